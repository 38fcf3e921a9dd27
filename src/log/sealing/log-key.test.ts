import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { openLogKey } from "./log-key.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-key-"));
  path = join(folder, "below", "log.key");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("the log's key is made once, readable by its owner only, and found again", async () => {
  const made = await openLogKey(path);
  expect(modeOf(path, 0o600)).toBe(0o600);
  const together = await Promise.all(Array.from({ length: 5 }, () => openLogKey(path)));
  expect(together.map((key) => key.reveal())).toEqual(together.map(() => made.reveal()));
  expect(await readdir(join(folder, "below"))).toEqual(["log.key"]);
  await rm(path);
  expect((await openLogKey(path)).reveal()).not.toBe(made.reveal());
});

test("a file that holds no key is refused, left as it is, and its content is not said", async () => {
  await openLogKey(path);
  await writeFile(path, "not a key but perhaps a secret");
  const error: unknown = await openLogKey(path).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: "degraded" });
  expect(JSON.stringify(error)).not.toContain("perhaps a secret");
  expect(await readFile(path, "utf8")).toBe("not a key but perhaps a secret");
});
