import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hasFileModes, modeOf } from "../../../test/support/file-mode.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { Secret } from "../../base/secret.ts";
import { openIssuedKeys } from "./issued-keys.ts";
import { createKey, readKeys, revokeKey, rotateKey } from "./keys-file.ts";

const newFile = () => join(mkdtempSync(join(tmpdir(), "millrace-keys-")), "state", "keys.json");
const free = { models: [], apis: [] };

function opened(file = newFile()) {
  const clock = new FakeClock();
  const problems: string[] = [];
  const keys = openIssuedKeys({ file, clock, onProblem: ({ message }) => problems.push(message) });
  return { file, clock, keys, problems };
}

test("a key is made with 256 random bits, and its file holds a salted hash that only its user may read", () => {
  const file = newFile();
  const [first, second] = [createKey(file, "ci", free, 1), createKey(file, "ada", free, 2)];
  expect(first.reveal()).toMatch(/^mrk_[\w-]{43}$/);
  const text = readFileSync(file, "utf8");
  for (const key of [first, second]) expect(text).not.toContain(key.reveal().slice(4));
  expect(modeOf(file, 0o600)).toBe(0o600);
  const [a, b] = readKeys(file);
  expect([a?.name, b?.name]).toEqual(["ci", "ada"]);
  expect(a?.salt).not.toBe(b?.salt);
});

test("a name that is in use, or that is reserved, is refused; that of a revoked key is free", () => {
  const file = newFile();
  createKey(file, "ci", free, 1);
  expect(() => createKey(file, "ci", free, 2)).toThrow(/a key called ci already/);
  for (const name of ["owner", "dashboard", "", "a b", "../x"])
    expect(() => createKey(file, name, free, 2)).toThrow(/cannot be called/);
  revokeKey(file, "ci", 3);
  createKey(file, "ci", free, 4);
  expect(() => revokeKey(file, "nobody", 5)).toThrow(/no key called "nobody"/);
});

test("a gateway that runs knows a new key at once, and a revoked or rotated one no more", () => {
  const { file, keys } = opened();
  expect(keys.callerOf(new Secret("mrk_unknown"))).toBeUndefined();
  const made = createKey(file, "ci", free, 1);
  const caller = keys.callerOf(made);
  expect(caller).toMatchObject({ name: "ci", owner: false });
  const rotated = rotateKey(file, "ci");
  expect(keys.callerOf(made)).toBeUndefined();
  expect(keys.callerOf(rotated)).toEqual(caller); // its turns stay its own
  revokeKey(file, "ci", 2);
  expect(keys.callerOf(rotated)).toBeUndefined();
  expect(keys.keyOf(caller?.digest ?? "")?.name).toBe("ci");
});

test("a name that was given anew does not reach the turns of the key before it", () => {
  const { file, keys } = opened();
  const before = keys.callerOf(createKey(file, "ci", free, 1));
  revokeKey(file, "ci", 2);
  const after = keys.callerOf(createKey(file, "ci", free, 3));
  expect(after?.name).toBe(before?.name);
  expect(after?.digest).not.toBe(before?.digest);
});

test("a key ends at its expiry", async () => {
  const { file, clock, keys } = opened();
  const key = createKey(file, "ci", { ...free, expiresAtMs: clock.now() + 1000 }, clock.now());
  expect(keys.callerOf(key)).toBeDefined();
  await clock.advance(1000);
  expect(keys.callerOf(key)).toBeUndefined();
});

test.runIf(hasFileModes)("a file that others may read opens nothing, and is reported once", () => {
  const { file, keys, problems } = opened();
  const key = createKey(file, "ci", free, 1);
  chmodSync(file, 0o644);
  expect(keys.callerOf(key)).toBeUndefined();
  expect(keys.callerOf(key)).toBeUndefined();
  expect(problems).toEqual([expect.stringContaining("others may read it")]);
  chmodSync(file, 0o600);
  expect(keys.callerOf(key)).toBeDefined();
});

test("a damaged file is an error for the owner, who could lose keys by writing over it", () => {
  const { file, keys, problems } = opened();
  createKey(file, "ci", free, 1);
  writeFileSync(file, '{"version":1,"keys":[{"name":"ci"}]}', { mode: 0o600 });
  expect(() => createKey(file, "ada", free, 2)).toThrow(/it is damaged/);
  expect(keys.callerOf(new Secret("mrk_any"))).toBeUndefined();
  expect(problems).toHaveLength(1);
});
