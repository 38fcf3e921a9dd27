import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openHistory } from "./sqlite-history.ts";

export const now = Date.parse("2026-11-21T12:00:00Z");

/** An empty history in a file of its own, which is removed after the test. The test closes the history. */
export function openedHistory() {
  const folder = mkdtempSync(join(tmpdir(), "millrace-history-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "turns.db");
  return { folder, file, history: openHistory({ file }) };
}
