import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listOf, tryWays } from "../matrix/ways.ts";
import { patienceMs, world } from "../support/world.ts";

const page = join(import.meta.dirname, "../../docs/http-api.md");
const block = /(<!-- ways: begin[^>]*-->\n)[\s\S]*?(\n<!-- ways: end -->)/;

test("each thing goes each way, or docs/http-api.md says why not (MILLRACE_WRITE_WAYS=1 writes it)", {
  timeout: 4 * patienceMs, // ninety turns, some by commands
}, async () => {
  const { home, ide, served } = await world({ args: ["--continuity", "off"] });
  const list = listOf(await tryWays(ide, { home, served }));
  expect(list).not.toContain("no: ");
  const text = readFileSync(page, "utf8");
  const written = text.replace(block, (_, begin: string, end: string) => begin + list + end);
  if (process.env["MILLRACE_WRITE_WAYS"] === "1") writeFileSync(page, written);
  expect(written).toBe(readFileSync(page, "utf8"));
  expect(text).toMatch(block);
});
