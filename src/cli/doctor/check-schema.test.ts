import { mkdtempSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startSimulator } from "../../simulator/start.ts";
import { checkSchema } from "./check-schema.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-schema-"));
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

it("tells a build whose field numbers moved, and finds nothing missing there", { timeout: 30_000 }, async () => {
  await using simulator = await startSimulator({ home: folder, schemaSeed: 7 });
  const schema = await checkSchema(simulator.layout.extension);
  expect(schema).toMatchObject({ verdict: "moved", load_bearing: [] });
  expect(schema.differences).toBeGreaterThan(100);
});

it("says when there is no bundle, and when it cannot be read", async () => {
  expect(await checkSchema("")).toMatchObject({ verdict: "not_found" });
  expect(await checkSchema(folder)).toMatchObject({ verdict: "not_found" });
  await mkdir(join(folder, "dist"));
  await writeFile(join(folder, "dist", "extension.js"), "const a = (");
  expect(await checkSchema(folder)).toMatchObject({
    verdict: "unreadable",
    why: expect.stringMatching(/extension\.js|bundle|JavaScript/),
  });
});
