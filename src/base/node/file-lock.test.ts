import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { withFileLock } from "./file-lock.ts";
import { ownProcess, spellOwner } from "./process-owner.ts";

const module = pathToFileURL(join(import.meta.dirname, "file-lock.ts")).href;

function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-lock-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "counter");
}

test("of several processes that read and write a file, each change stays", async () => {
  const file = temporaryFile();
  writeFileSync(file, "0");
  const program = `
    import { readFileSync, writeFileSync } from "node:fs";
    import { withFileLock } from ${JSON.stringify(module)};
    for (let turn = 0; turn < 50; turn++)
      withFileLock(${JSON.stringify(file)}, () => writeFileSync(${JSON.stringify(file)}, String(Number(readFileSync(${JSON.stringify(file)}, "utf8")) + 1)));
  `;
  const children = [1, 2, 3].map(() =>
    spawn(process.execPath, ["--experimental-strip-types", "--no-warnings", "--input-type=module", "-e", program], {
      stdio: "inherit",
    }),
  );
  const codes = await Promise.all(children.map(async (child) => ((await once(child, "exit")) as [number])[0]));
  expect(codes).toEqual([0, 0, 0]);
  expect(readFileSync(file, "utf8")).toBe("150");
});

test("a lock whose process is gone is taken over, and one is free again after an error", () => {
  const file = temporaryFile();
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  writeFileSync(`${file}.lock`, `${spellOwner({ ...ownProcess(), pid })} gone`);
  expect(withFileLock(file, () => existsSync(`${file}.lock`))).toBe(true);
  writeFileSync(`${file}.lock`, `${spellOwner({ ...ownProcess(), started: "1" })} of a pid that is used again`);
  expect(withFileLock(file, () => existsSync(`${file}.lock`))).toBe(true);
  writeFileSync(
    `${file}.lock`,
    `${spellOwner({ ...ownProcess(), machine: "another", boot: "another" })} that is an hour old`,
  );
  utimesSync(`${file}.lock`, Date.now() / 1000 - 3600, Date.now() / 1000 - 3600);
  expect(withFileLock(file, () => existsSync(`${file}.lock`))).toBe(true);
  const failing = () =>
    withFileLock(file, () => {
      throw new Error("no");
    });
  expect(failing).toThrow("no");
  expect(existsSync(`${file}.lock`)).toBe(false);
});
