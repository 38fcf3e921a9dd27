import { join } from "node:path";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { openHistory } from "./sqlite-history.ts";

export const now = Date.parse("2026-11-21T12:00:00Z");

/** An empty history in a file of its own, which is removed after the test. The test closes the history. */
export function openedHistory() {
  const folder = temporaryFolder();
  const file = join(folder, "turns.db");
  return { folder, file, history: openHistory({ file }) };
}
