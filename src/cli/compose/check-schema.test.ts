import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { install, layoutOf, profiles } from "../../../simulator/parts.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { openSchemas } from "../../schema/open-schemas.ts";
import { checkSchema } from "./check-ides.ts";

const { signal } = new AbortController();
let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

it("tells a build whose field numbers moved", async () => {
  const layout = layoutOf(profiles["windsurf-2"], folder, "linux", "x64");
  const profile = profiles["windsurf-2"];
  await install({ profile, layout, ideVersion: "2.2.17", node: process.execPath, schemaSeed: 7 });
  const schema = await checkSchema(openSchemas(), layout.extension, signal);
  expect(schema).toMatchObject({ verdict: "moved", load_bearing: [] });
  expect(schema.differences).toBeGreaterThan(100);
});

it("says when there is no bundle, and when it cannot be read", async () => {
  const schemas = openSchemas();
  expect(await checkSchema(schemas, "", signal)).toMatchObject({ verdict: "not_found" });
  expect(await checkSchema(schemas, folder, signal)).toMatchObject({ verdict: "not_found" });
  await mkdir(join(folder, "dist"));
  await writeFile(join(folder, "dist", "extension.js"), "const a = (");
  expect(await checkSchema(schemas, folder, signal)).toMatchObject({
    verdict: "unreadable",
    why: expect.stringContaining("there are no protobuf messages"),
  });
});
