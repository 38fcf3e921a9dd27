import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentCases } from "../test/clients/cases/agents.ts";
import { cliCases } from "../test/clients/cases/clis.ts";
import { editorCases } from "../test/clients/cases/editors.ts";
import { sdkCases } from "../test/clients/cases/sdks.ts";
import { failureNames } from "../test/clients/failures/failure.ts";
import { failureTable } from "../test/clients/failures/failure-table.ts";
import { hostList, sectionOf, supportTable, surfaceRows } from "../test/clients/table.ts";

/** A client's user has the message within this time of the first request; seconds. */
const soonS = 10;

const clients = [...cliCases, ...editorCases, ...agentCases, ...sdkCases];
const read = (file: string) => readFile(join(import.meta.dirname, "..", file), "utf8");
const readPage = () => read("docs/clients.md");

/** Goose tells no name, repeats each refusal three times, waits for `retry-after`, and asks for a title too. */
const goose = { most: 4, soonS: 65 };

/** What was measured of each client after each failure: "requests/prompts, seconds until the user read why". */
async function cells(): Promise<readonly string[]> {
  const rows = (await read("test/clients/failures/measured.txt")).split("\n");
  return rows
    .filter((row) => /^\| \S.* \d+\.\d+/.test(row))
    .flatMap((row) => {
      const [client = "", api = "", ...seen] = row
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim());
      const driven = seen.map((cell, at) => ({ cell, failure: failureNames[at] })).filter(({ cell }) => cell !== "–");
      return driven.map(({ cell, failure }) => `${client}, ${api}, ${failure}: ${cell}`);
    });
}

test("docs/clients.md: each client that was driven through a failure has the message within ten seconds, after two prompts at most", async () => {
  const measured = await cells();
  const notes = await read("test/clients/failures/measured.txt");
  const isNoted = (cell: string) => {
    const [client = "", api = "", failure = ""] = cell.split(/, |: /);
    return notes.includes(`- ${client.replace(/ \S+$/, "")} (${api}), ${failure}: `);
  };
  expect(measured.length).toBeGreaterThan(100);
  const isSoon = (cell: string) => {
    const [, prompts, seconds, answered] = /: \d+\/(\d+), (?:([\d.]+)|(answered))$/.exec(cell) ?? [];
    const { most, soonS: soon } = cell.startsWith("goose")
      ? goose
      : { most: cell.startsWith("OpenCode") ? 3 : 2, soonS };
    return Number(prompts) <= most && (answered !== undefined || Number(seconds) <= soon);
  };
  expect(measured.filter((cell) => !isNoted(cell) && !isSoon(cell))).toEqual([]);
});

test("each client has a row with its pinned version and the date of its run", async () => {
  const rows = surfaceRows(sectionOf(await readPage(), "clients"));
  const own = JSON.parse(await read("test/clients/package.json")) as Readonly<
    Record<"dependencies" | "optionalDependencies", Readonly<Record<string, string>>>
  >;
  const pinned: Readonly<Record<string, string>> = { ...own.dependencies, ...own.optionalDependencies };
  const titles = clients.map(({ name, packageName, surface }) => [name, pinned[packageName], surface].join());
  expect(rows.map((row) => row.slice(0, 3).join())).toEqual(titles);
  for (const row of rows) expect(row.at(-1)).toMatch(/^\d{4}-\d\d-\d\d$/);
});

test("a run of some clients keeps the rows and the notes of the others", async () => {
  const written = sectionOf(await readPage(), "clients");
  expect(supportTable(clients, [], "2026-01-01", written)).toBe(written.trim());
  const failures = await read("test/clients/failures/measured.txt");
  expect(failureTable(clients, [], () => "99.0.0", failures)).toBe(failures.trim());
  const hosts = sectionOf(await readPage(), "other hosts");
  expect(hostList([], "2026-01-01", hosts)).toBe(hosts.trim());
});

test("every page tells the same score of Open Responses' suite", async () => {
  const [, score] = /\*\*(\d+ of \d+)\*\*/.exec(sectionOf(await readPage(), "open-responses")) ?? [];
  for (const file of ["README.md", "docs/http-api.md"]) expect(await read(file)).toContain(String(score));
});
