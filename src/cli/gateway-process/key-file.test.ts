import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { hasFileModes, modeOf } from "../../../test/support/file-mode.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { keepToYourself } from "../../base/node/file-access.ts";
import { followKeyFile, readKey, readOrMakeKey, replaceKey } from "./key-file.ts";

const folder = () => join(temporaryFolder(), "state");

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

test.runIf(hasFileModes)("a key in a folder that others may write to is refused with what to type", () => {
  const file = join(folder(), "key");
  readOrMakeKey(file);
  chmodSync(dirname(file), 0o777);
  expect(() => readKey(file)).toThrow(/others may replace it.*mode 777/);
  expect(() => readKey(file)).toThrow(expect.objectContaining({ hint: keepToYourself(dirname(file), "go-w") }));
  chmodSync(dirname(file), 0o1777);
  expect(readKey(file)).toBeDefined();
});

test.runIf(hasFileModes && process.getuid?.() === 0)("a key that belongs to another user is refused", () => {
  const file = join(folder(), "key");
  readOrMakeKey(file);
  chownSync(file, 65_534, 65_534);
  expect(() => readKey(file)).toThrow(/it belongs to another user/);
});

test("while its folder is moved away the key stays, and nothing is written to the empty place", () => {
  const file = join(folder(), "key");
  const first = readOrMakeKey(file);
  const ownerKey = followKeyFile(file, first);
  renameSync(dirname(file), `${dirname(file)}-away`);
  expect(ownerKey().reveal()).toBe(first.reveal());
  mkdirSync(dirname(file));
  expect(ownerKey().reveal()).toBe(first.reveal());
  expect(readdirSync(dirname(file))).toEqual([]);
  const other = readOrMakeKey(file); // the user's word
  expect(ownerKey().reveal()).toBe(other.reveal());
  rmSync(dirname(file), { recursive: true });
  renameSync(`${dirname(file)}-away`, dirname(file));
  expect(ownerKey().reveal()).toBe(first.reveal());
});

test("a replaced key counts at once, and a file that cannot be used changes nothing", () => {
  const file = join(folder(), "key");
  const ownerKey = followKeyFile(file, readOrMakeKey(file));
  ownerKey();
  const made = replaceKey(file);
  expect(ownerKey().reveal()).toBe(made.reveal());
  writeFileSync(file, "short\n");
  expect(ownerKey().reveal()).toBe(made.reveal());
});
