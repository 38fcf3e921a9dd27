import { utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { temporaryFolder } from "../../test/support/temporary.ts";
import { ourFiles } from "./build-types.ts";
import { writeBundle } from "./bundle.fake.ts";
import { openSchemas } from "./open-schemas.ts";

const never = new AbortController().signal;
let folder: string;
let bundlePath: string;

beforeEach(async () => {
  folder = temporaryFolder();
  bundlePath = join(folder, "extension.js");
  await writeFile(bundlePath, writeBundle(ourFiles(), "static"));
});

it("a bundle is read once, by all who ask together and later, and again when it changed", async () => {
  const schemas = openSchemas();
  const [first, second] = await Promise.all([schemas.read(bundlePath, never), schemas.read(bundlePath, never)]);
  expect(first.verdict).toBe("same");
  expect(second).toBe(first);
  expect(await schemas.read(bundlePath, never)).toBe(first);
  await writeFile(bundlePath, writeBundle(ourFiles(), "assigned"));
  await utimes(bundlePath, 1, 1);
  const changed = await schemas.read(bundlePath, never);
  expect(changed).not.toBe(first);
  expect(changed.verdict).toBe("same");
});

it("one that is not there is an error that says where was looked, and one that cannot be read is refused", async () => {
  const schemas = openSchemas();
  await expect(schemas.read(join(folder, "none.js"), never)).rejects.toThrow(join(folder, "none.js"));
  await writeFile(bundlePath, "<html>");
  await expect(schemas.read(bundlePath, never)).rejects.toMatchObject({ code: "invalid_request" });
});
