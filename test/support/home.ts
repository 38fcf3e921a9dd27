import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** An empty home folder for one test, removed after it. */
export function temporaryHome(): string {
  const home = mkdtempSync(join(tmpdir(), "millrace-test-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  return home;
}
