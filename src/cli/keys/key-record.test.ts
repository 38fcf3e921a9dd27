import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { hasFileModes, modeOf } from "../../../test/support/file-mode.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { Secret } from "../../base/secret.ts";
import { openIssuedKeys } from "./compose-keys.ts";
import { changeKeys, createKey, readKeys, revokeKey } from "./key-record.ts";

const newFile = () => join(temporaryFolder(), "state", "keys.json");
const free = { models: [] };

function opened(file = newFile()) {
  const clock = new FakeClock();
  const problems: string[] = [];
  const keys = openIssuedKeys({ file, clock, onProblem: ({ message }) => problems.push(message) });
  /** The caller whom a key lets in. */
  const callerOf = (key: Secret) => {
    const found = keys.find(key);
    return typeof found === "object" && found.state === "works" ? found.caller : undefined;
  };
  return { file, clock, keys: { ...keys, callerOf }, problems };
}

test("a key is made with 256 random bits, and its file does not hold its value", () => {
  const { file } = opened();
  expect(readKeys(file)).toEqual([]);
  const key = createKey(file, "ci", free, 1);
  expect(key.reveal()).toMatch(/^mrk_[\w-]{43}$/);
  expect(readKeys(file)).toMatchObject([{ name: "ci", createdAtMs: 1 }]);
  expect(readFileSync(file, "utf8")).not.toContain(key.reveal().slice(4));
});

test("a name that works already, or that means somebody else, is refused; that of a revoked key is free", () => {
  const { file } = opened();
  createKey(file, "ci", free, 1);
  expect(() => createKey(file, "ci", free, 2)).toThrow(/a key called ci already/);
  for (const name of ["owner", "dashboard", "", "a b", "../x"])
    expect(() => createKey(file, name, free, 2)).toThrow(/cannot be called/);
  revokeKey(file, "ci", 3);
  createKey(file, "ci", free, 4);
  expect(readKeys(file).map(({ revokedAtMs }) => revokedAtMs)).toEqual([3, undefined]);
  expect(() => revokeKey(file, "nobody", 5)).toThrow(/no key called "nobody"/);
});

test("a port has the door of one key that works; that of a key that ended is free", () => {
  const { file } = opened();
  createKey(file, "ci", { ...free, door: 2001 }, 1);
  expect(() => createKey(file, "ada", { ...free, door: 2001 }, 2)).toThrow(/ci has a door on port 2001 already/);
  createKey(file, "ada", { ...free, door: 2002, expiresAtMs: 5 }, 2);
  revokeKey(file, "ci", 3);
  createKey(file, "bo", { ...free, door: 2001 }, 4);
  createKey(file, "eve", { ...free, door: 2002 }, 5);
  expect(readKeys(file).map(({ name }) => name)).toEqual(["ci", "ada", "bo", "eve"]);
});

test("the file holds salted hashes that only its user may read", () => {
  const { file } = opened();
  const made = [createKey(file, "ci", free, 1), createKey(file, "ada", free, 2)];
  const text = readFileSync(file, "utf8");
  for (const key of made) expect(text).not.toContain(key.reveal().slice(4));
  expect(modeOf(file, 0o600)).toBe(0o600);
  const [a, b] = readKeys(file);
  expect(a?.salt).not.toBe(b?.salt);
});

test("a gateway that runs knows a new key at once, and a revoked one no more", () => {
  const { file, keys } = opened();
  expect(keys.callerOf(new Secret("mrk_unknown"))).toBeUndefined();
  const made = createKey(file, "ci", free, 1);
  const caller = keys.callerOf(made);
  expect(caller).toMatchObject({ name: "ci", owner: false });
  revokeKey(file, "ci", 2);
  expect(keys.callerOf(made)).toBeUndefined();
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

test.runIf(hasFileModes)(
  "a file in a folder that others may write to opens nothing, because they could replace it",
  () => {
    const { file, keys, problems } = opened();
    const key = createKey(file, "ci", free, 1);
    chmodSync(dirname(file), 0o777);
    expect(keys.callerOf(key)).toBeUndefined();
    expect(problems).toEqual([expect.stringMatching(/others may replace it/)]);
    expect(() => createKey(file, "ada", free, 2)).toThrow(/others may replace it/);
    chmodSync(dirname(file), 0o700);
    createKey(file, "ada", free, 3);
    expect(keys.callerOf(key)?.name).toBe("ci");
  },
);

test("a file with a limit that this version does not know opens nothing, and no change of it takes the limit away", () => {
  const { file, keys } = opened();
  const key = createKey(file, "ci", free, 1);
  changeKeys(file, (records) => records.map((record) => ({ ...record, budget: { most: 5 } })));
  expect(keys.callerOf(key)).toBeUndefined();
  expect(() => createKey(file, "ada", free, 2)).toThrow(/of another version/);
});
