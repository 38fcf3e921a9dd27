import { closeSync, fstatSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { openRotatedFile } from "./rotated-file.ts";

test("a log file is put aside when it is full, and the oldest goes", () => {
  const folder = temporaryFolder();
  const file = join(folder, "logs", "a.log");
  const log = openRotatedFile(file, { maxBytes: 10, keep: 3 });
  for (const line of ["1234567\n", "2345678\n", "3456789\n", "4567890\n"]) log.write(line);
  log.close();
  expect(readdirSync(join(folder, "logs")).toSorted()).toEqual(["a.log", "a.log.1", "a.log.2"]);
  expect([file, `${file}.1`, `${file}.2`].map((each) => readFileSync(each, "utf8"))).toEqual([
    "4567890\n",
    "3456789\n",
    "2345678\n",
  ]);
  const again = openRotatedFile(file, { maxBytes: 10, keep: 3 });
  again.write("5678901\n");
  again.close();
  expect(readFileSync(`${file}.1`, "utf8")).toBe("4567890\n");
});

test("a folder that was removed is made again, and no descriptor is closed twice", () => {
  const folder = temporaryFolder();
  const file = join(folder, "logs", "a.log");
  const log = openRotatedFile(file, { maxBytes: 10 });
  rmSync(join(folder, "logs"), { recursive: true });
  writeFileSync(join(folder, "logs"), "a file in the folder's place");
  const opened: number[] = [];
  for (const line of ["1234567\n", "2345678\n", "3456789\n"]) {
    log.write(line);
    opened.push(openSync(join(folder, "logs"), "r")); // takes any number that was closed
  }
  for (const each of opened) expect(fstatSync(each).size).toBe(28);
  for (const each of opened) closeSync(each);
  rmSync(join(folder, "logs"));
  log.write("4567890\n");
  log.close();
  log.close();
  log.write("never\n");
  expect(readFileSync(file, "utf8")).toBe("4567890\n");
});

test("lines that are lost are told once, until they are written again", () => {
  const folder = temporaryFolder();
  const file = join(folder, "logs", "a.log");
  const told: string[] = [];
  const log = openRotatedFile(file, { onProblem: (why) => told.push(why) });
  rmSync(join(folder, "logs"), { recursive: true });
  writeFileSync(join(folder, "logs"), "a file in the folder's place");
  log.write("1\n");
  log.write("2\n");
  expect(told).toEqual([log.problem]);
  expect(log.problem).toContain("logs cannot be written: ");
  rmSync(join(folder, "logs"));
  log.write("3\n");
  expect([log.problem, readFileSync(file, "utf8")]).toEqual([undefined, "3\n"]);
  log.close();
});

test("a log file is its user's alone, and a file that was put aside is closed", () => {
  const folder = temporaryFolder();
  const file = join(folder, "logs", "a.log");
  const log = openRotatedFile(file, { maxBytes: 10, keep: 2 });
  const next = () => {
    const number = openSync(folder, "r");
    closeSync(number);
    return number;
  };
  log.write("1234567\n");
  const free = next(); // the lowest number that no file of this process has
  for (let line = 0; line < 20; line++) log.write("1234567\n");
  expect(next()).toBeLessThan(free + 10);
  for (const each of [file, `${file}.1`]) expect(modeOf(each, 0o600)).toBe(0o600);
  log.close();
});
