import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { failureNames } from "../test/clients/failures/failure.ts";
import { sectionOf } from "../test/clients/table.ts";

/** A client's user has the message within this time of the first request; seconds. */
const soonS = 10;

/** The measured cells of docs/clients.md: "requests / prompts / when the user read why". */
async function cells(): Promise<readonly string[]> {
  const page = await readFile(join(import.meta.dirname, "../docs/clients.md"), "utf8");
  const rows = sectionOf(page, "failures").split("\n");
  return rows
    .filter((row) => /^\| \S.* \d+\.\d+/.test(row))
    .flatMap((row) => {
      const [client = "", api = "", ...seen] = row
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim());
      return seen.map((cell, at) => `${client}, ${api}, ${failureNames[at]}: ${cell}`);
    });
}

test("each client that was driven through a failure has the message within ten seconds, and stops", async () => {
  const measured = await cells();
  expect(measured.length).toBeGreaterThan(100);
  const isSoon = (cell: string) => {
    const [, seconds, answered] = /: \d+ \/ \d+ \/ (?:([\d.]+) s|(answered))$/.exec(cell) ?? [];
    return answered !== undefined || Number(seconds) <= soonS;
  };
  expect(measured.filter((cell) => !isSoon(cell))).toEqual([]);
});
