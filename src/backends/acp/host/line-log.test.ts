import { closeSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { LineLog } from "./line-log.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-lines-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a line reads as it was written, also after earlier lines were dropped", () => {
  const step = fc.oneof(
    fc.record({ append: fc.array(fc.string({ unit: "binary", maxLength: 40 }), { maxLength: 3 }) }),
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
    { numRuns: 20 },
  );
  expect(readdirSync(folder)).toEqual([]);
});
