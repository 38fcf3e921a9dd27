import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { withFileLock } from "./file-lock.ts";
import { isLocked } from "./system-lock.ts";

const module = pathToFileURL(join(import.meta.dirname, "file-lock.ts")).href;

function temporaryFile(): string {
  const folder = temporaryFolder();
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

test("a lock of a process that was killed is free, and so is one after an error", async () => {
  const file = temporaryFile();
  const program = `
    import { withFileLock } from ${JSON.stringify(module)};
    withFileLock(${JSON.stringify(file)}, () => { console.log("held"); for (;;); });
  `;
  const words = ["--experimental-strip-types", "--no-warnings", "--input-type=module", "-e", program];
  const holder = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  await once(holder.stdout, "data");
  expect(isLocked(`${file}.held`)).toBe(true);
  const ended = once(holder, "exit");
  holder.kill("SIGKILL");
  await ended;
  expect(isLocked(`${file}.held`)).toBe(false);
  const failing = () =>
    withFileLock(file, () => {
      throw new Error("no");
    });
  expect(failing).toThrow("no");
  expect(withFileLock(file, () => isLocked(`${file}.held`))).toBe(true);
});
