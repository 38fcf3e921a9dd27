import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { hasFileModes, modeOf } from "../../../test/support/file-mode.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { keepKeyFile, keyInFile, readKey, readOrMakeKey } from "./key-file.ts";

const folder = () => join(mkdtempSync(join(tmpdir(), "millrace-key-")), "state");

test("the first start makes a key that only its user may read, and later starts read it", () => {
  const file = join(folder(), "key");
  const made = readOrMakeKey(file);
  expect(made.reveal()).toMatch(/^mr_[\w-]{43}$/);
  expect(modeOf(file, 0o600)).toBe(0o600);
  expect(readOrMakeKey(file).reveal()).toBe(made.reveal());
  expect(readFileSync(file, "utf8").trim()).toBe(made.reveal());
});

test("no file is no key, and nothing is made by reading", () => {
  expect(readKey(join(folder(), "key"))).toBeUndefined();
});

test.runIf(hasFileModes)(
  "a file that others may read, that is too short, or that is a link is refused with what to do",
  () => {
    const file = join(folder(), "key");
    readOrMakeKey(file);
    chmodSync(file, 0o644);
    expect(() => readOrMakeKey(file)).toThrow(/others may read it/);
    chmodSync(file, 0o600);
    writeFileSync(file, "short\n");
    expect(() => readOrMakeKey(file)).toThrow(/fewer than 24 characters/);
    const link = `${file}-link`;
    symlinkSync(file, link);
    expect(() => readOrMakeKey(link)).toThrow(/cannot be read/);
  },
);

test("a running gateway's key file comes back when it is deleted, and one that stands there is left alone", async () => {
  const file = join(folder(), "key");
  const key = readOrMakeKey(file);
  const clock = new FakeClock();
  const stop = new AbortController();
  const keeping = keepKeyFile(file, key, clock, stop.signal);
  rmSync(dirname(file), { recursive: true });
  await clock.advance(1_000);
  expect(readKey(file)?.reveal()).toBe(key.reveal());
  rmSync(file);
  const other = readOrMakeKey(file);
  await clock.advance(1_000);
  expect(readKey(file)?.reveal()).toBe(other.reveal());
  stop.abort();
  await keeping;
});

test("the file's key is read at most once a second, and a file that cannot be used opens nothing", async () => {
  const file = join(folder(), "key");
  const clock = new FakeClock();
  const now = keyInFile(file, clock);
  expect(now()).toBeUndefined();
  const made = readOrMakeKey(file);
  expect(now()).toBeUndefined();
  await clock.advance(1_000);
  expect(now()?.reveal()).toBe(made.reveal());
  writeFileSync(file, "short\n");
  await clock.advance(1_000);
  expect(now()).toBeUndefined();
});
