import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { openLogKey } from "./keys.ts";

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

test("a key that is there is read where nothing can be written, and no draft is left beside it", async () => {
  const made = await openLogKey(path);
  const below = join(folder, "below");
  await chmod(path, 0o400);
  await chmod(below, 0o500);
  try {
    expect((await openLogKey(path)).reveal()).toBe(made.reveal());
    expect(await readdir(below)).toEqual(["log.key"]);
  } finally {
    await chmod(below, 0o700);
  }
});

test("no hint of it suggests to move a key away", async () => {
  await openLogKey(path);
  await writeFile(path, "damaged");
  const error: unknown = await openLogKey(path).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ hint: expect.not.stringMatching(/move|delete|remove/i) });
});
