import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hasFileModes, modeOf } from "../../../test/support/file-mode.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { Secret } from "../../base/secret.ts";
import { createKey, revokeKey, rotateKey } from "./change-keys.ts";
import { openIssuedKeys } from "./issued-keys.ts";
import { describeKeyStore } from "./key-store.conformance.ts";
import { openKeysFile, readKeys } from "./keys-file.ts";

const newFile = () => join(mkdtempSync(join(tmpdir(), "millrace-keys-")), "state", "keys.json");
const free = { models: [], apis: [] };

function opened(file = newFile()) {
  const clock = new FakeClock();
  const problems: string[] = [];
  const keys = openIssuedKeys({ file, clock, onProblem: ({ message }) => problems.push(message) });
  return { file, store: openKeysFile(file), clock, keys, problems };
}

describeKeyStore("a file", async () => {
  const file = newFile();
  return { open: async () => openKeysFile(file) };
});

test("the file holds salted hashes that only its user may read", async () => {
  const { file, store } = opened();
  const made = [await createKey(store, "ci", free, 1), await createKey(store, "ada", free, 2)];
  const text = readFileSync(file, "utf8");
  for (const key of made) expect(text).not.toContain(key.reveal().slice(4));
  expect(modeOf(file, 0o600)).toBe(0o600);
  const [a, b] = readKeys(file);
  expect(a?.salt).not.toBe(b?.salt);
});

test("a gateway that runs knows a new key at once, and a revoked or rotated one no more", async () => {
  const { store, keys } = opened();
  expect(keys.callerOf(new Secret("mrk_unknown"))).toBeUndefined();
  const made = await createKey(store, "ci", free, 1);
  const caller = keys.callerOf(made);
  expect(caller).toMatchObject({ name: "ci", owner: false });
  const rotated = await rotateKey(store, "ci");
  expect(keys.callerOf(made)).toBeUndefined();
  expect(keys.callerOf(rotated)).toEqual(caller); // its turns stay its own
  await revokeKey(store, "ci", 2);
  expect(keys.callerOf(rotated)).toBeUndefined();
  expect(keys.keyOf(caller?.digest ?? "")?.name).toBe("ci");
});

test("a name that was given anew does not reach the turns of the key before it", async () => {
  const { store, keys } = opened();
  const before = keys.callerOf(await createKey(store, "ci", free, 1));
  await revokeKey(store, "ci", 2);
  const after = keys.callerOf(await createKey(store, "ci", free, 3));
  expect(after?.name).toBe(before?.name);
  expect(after?.digest).not.toBe(before?.digest);
});

test("a key ends at its expiry", async () => {
  const { store, clock, keys } = opened();
  const key = await createKey(store, "ci", { ...free, expiresAtMs: clock.now() + 1000 }, clock.now());
  expect(keys.callerOf(key)).toBeDefined();
  await clock.advance(1000);
  expect(keys.callerOf(key)).toBeUndefined();
});

test.runIf(hasFileModes)("a file that others may read opens nothing, and is reported once", async () => {
  const { file, store, keys, problems } = opened();
  const key = await createKey(store, "ci", free, 1);
  chmodSync(file, 0o644);
  expect(keys.callerOf(key)).toBeUndefined();
  expect(keys.callerOf(key)).toBeUndefined();
  expect(problems).toEqual([expect.stringContaining("others may read it")]);
  chmodSync(file, 0o600);
  expect(keys.callerOf(key)).toBeDefined();
});

test("a damaged file is an error for the owner, who could lose keys by writing over it", async () => {
  const { file, store, keys, problems } = opened();
  await createKey(store, "ci", free, 1);
  writeFileSync(file, '{"version":1,"keys":[{"name":"ci"}]}', { mode: 0o600 });
  await expect(createKey(store, "ada", free, 2)).rejects.toThrow(/it is damaged/);
  expect(keys.callerOf(new Secret("mrk_any"))).toBeUndefined();
  expect(problems).toHaveLength(1);
});
