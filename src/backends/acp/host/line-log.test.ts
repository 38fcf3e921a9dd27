import { closeSync, fstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { anyCharacter } from "../../../../test/support/any-character.ts";
import { LineLog } from "./line-log.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-lines-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a line reads as it was written, also after earlier lines were dropped", () => {
  const step = fc.oneof(
    fc.record({ append: fc.array(fc.string({ unit: anyCharacter, maxLength: 40 }), { maxLength: 3 }) }),
    fc.record({ append: fc.constant(["long".repeat(150_000)]) }),
    fc.record({ drop: fc.nat(12) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const log = new LineLog(join(folder, "lines"));
      const all: string[] = [];
      for (const each of steps) {
        if ("append" in each) {
          const lines = each.append.map((line) => line.toWellFormed());
          log.append(lines);
          all.push(...lines);
        } else log.drop(each.drop);
      }
      expect(log.next).toBe(all.length);
      for (let at = log.first; at < log.next; at++) expect(log.read(at) === all[at]).toBe(true);
      closeSync(log.file);
    }),
    { numRuns: 8 },
  );
  expect(readdirSync(folder)).toEqual([]);
});

test("what is dropped gives its room back: on the disk once it is a megabyte, and in memory at once", () => {
  const megabyte = "x".repeat(1024 * 1024);
  const log = new LineLog(join(folder, "lines"));
  for (let n = 0; n < 3; n++) log.append([megabyte]);
  log.drop(2);
  expect([fstatSync(log.file).size, log.bytes]).toEqual([log.bytes, 1024 * 1024 + 16]);
  closeSync(log.file);
  const full = new LineLog(join(folder, "full"), () => {
    throw new Error("ENOSPC");
  });
  for (let n = 0; n < 3; n++) full.append(["12345678"]);
  expect([full.memoryBytes, full.bytes]).toEqual([72, 72]);
  full.drop(2);
  expect([full.memoryBytes, full.bytes, full.read(2)]).toEqual([24, 24, "12345678"]);
  full.drop(3);
  expect([full.memoryBytes, full.bytes]).toEqual([0, 0]);
  closeSync(full.file);
  expect(readdirSync(folder)).toEqual([]);
});
