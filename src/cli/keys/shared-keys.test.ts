import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { redisInstalled, redisServer } from "../../../test/support/redis.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { openRedisText } from "../../log/redis/open-redis-text.ts";
import { encodeKey } from "../../log/sealing/keys.ts";
import { createKey, revokeKey, rotateKey } from "./change-keys.ts";
import { openIssuedKeys } from "./issued-keys.ts";
import type { KeyRecord } from "./key-record.ts";
import { describeKeyStore } from "./key-store.conformance.ts";
import { openKeysFile, readKeys } from "./keys-file.ts";
import { mergeKeys } from "./merge-keys.ts";
import { openSealedKeys } from "./sealed-keys.ts";
import { SharedKeys } from "./shared-keys.ts";

const free = { models: [], apis: [] };
const logKey = encodeKey(new Uint8Array(32).fill(7));

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-keys-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "keys.json");
}

/** The keys of one more machine, and how a gateway there sees them. */
async function machine(url: string, { file = newFile(), sealedWith = logKey, prefix = "test:" } = {}) {
  const text = await openRedisText({ url, prefix, name: "keys" });
  const states: (string | undefined)[] = [];
  const problems: string[] = [];
  const keys = new SharedKeys({
    file,
    shared: openSealedKeys(text, async () => sealedWith),
    onState: (problem) => states.push(problem?.message),
    onProblem: ({ message }) => problems.push(message),
  });
  onTestFinished(() => keys.close());
  const issued = openIssuedKeys({ file, clock: new FakeClock(), shared: () => keys.known, onProblem: () => {} });
  return { file, keys, issued, states, problems, text };
}

describe.skipIf(!redisInstalled)("with a redis-server on PATH", () => {
  let places = 0;
  for (const [name, isCopied] of [
    ["a shared store", false],
    ["a shared store with a copy in each machine's file", true],
  ] as const)
    describeKeyStore(name, async () => {
      const { url } = await redisServer();
      const prefix = `place-${++places}:`;
      return {
        open: async () => {
          const store = openSealedKeys(await openRedisText({ url, prefix, name: "keys" }), async () => logKey);
          return isCopied ? new SharedKeys({ file: newFile(), shared: store }) : store;
        },
      };
    });

  test("a key that one machine makes opens the gateways of all; one that is revoked or rotated opens none", async () => {
    const { url } = await redisServer();
    const [a, b] = [await machine(url), await machine(url)];
    const made = await createKey(a.keys, "ci", free, 1);
    await b.keys.tryExchange();
    expect(b.issued.callerOf(made)).toMatchObject({ name: "ci", owner: false });
    expect(b.issued.callerOf(made)).toEqual(a.issued.callerOf(made));
    const rotated = await rotateKey(b.keys, "ci");
    await a.keys.tryExchange();
    expect([a.issued.callerOf(made), a.issued.callerOf(rotated)?.name]).toEqual([undefined, "ci"]);
    await revokeKey(a.keys, "ci", 2);
    await b.keys.tryExchange();
    expect(b.issued.callerOf(rotated)).toBeUndefined();
  });

  test("without the store the known keys hold, also after a restart, and a revoked one stays out", async () => {
    const redis = await redisServer();
    const a = await machine(redis.url);
    const kept = await createKey(a.keys, "kept", free, 1);
    const ended = await createKey(a.keys, "ended", free, 1);
    await revokeKey(a.keys, "ended", 2);
    await redis.kill();
    await a.keys.tryExchange();
    await a.keys.tryExchange();
    expect(a.states).toEqual([expect.stringContaining("cannot be reached")]);
    const restarted = await machine(redis.url, { file: a.file });
    await restarted.keys.tryExchange();
    for (const { issued } of [a, restarted]) {
      expect(issued.callerOf(kept)?.name).toBe("kept");
      expect(issued.callerOf(ended)).toBeUndefined();
    }
    await expect(revokeKey(restarted.keys, "kept", 3)).rejects.toMatchObject({ code: "degraded" });
    await redis.start();
    await expect.poll(() => a.keys.tryExchange().then(() => a.states.at(-1))).toBeUndefined();
  });

  test("what the files of machines held is carried over: copies once, and a name that is in use with a number", async () => {
    const { url } = await redisServer();
    const [one, copy, other] = [newFile(), newFile(), newFile()];
    const first = await createKey(openKeysFile(one), "ci", free, 1);
    await openKeysFile(copy).change(() => readKeys(one));
    const second = await createKey(openKeysFile(other), "ci", free, 2);
    const machines = [];
    for (const file of [one, copy, other]) {
      machines.push(await machine(url, { file }));
      await machines.at(-1)?.keys.tryExchange();
    }
    for (const { keys, issued } of machines) {
      await keys.tryExchange();
      expect(issued.callerOf(first)?.name).toBe("ci");
      expect(issued.callerOf(second)?.name).toBe("ci-2");
      expect(issued.all()).toHaveLength(2);
    }
    expect(readKeys(one)).toEqual(readKeys(other));
  });

  test("a store that fell back to an older state does not bring a revoked key back, and gets the newer state again", async () => {
    const { url } = await redisServer();
    const a = await machine(url);
    const key = await createKey(a.keys, "ci", free, 1);
    const older = await a.text.read();
    await revokeKey(a.keys, "ci", 2);
    expect(await a.text.replace(await a.text.read(), older ?? new Uint8Array(0))).toBe(true);
    await a.keys.tryExchange();
    expect(a.issued.callerOf(key)).toBeUndefined();
    const b = await machine(url);
    await b.keys.tryExchange();
    expect(b.issued.all()).toMatchObject([{ name: "ci", revokedAtMs: 2 }]);
  });

  test("who has another log key reads no key, makes none that counts, and destroys none", async () => {
    const { url } = await redisServer();
    const a = await machine(url);
    const key = await createKey(a.keys, "ci", free, 1);
    expect(Buffer.from((await a.text.read()) ?? []).includes("ci")).toBe(false);
    const foreign = await machine(url, { sealedWith: encodeKey(new Uint8Array(32).fill(8)) });
    await foreign.keys.tryExchange();
    expect(foreign.states).toEqual([expect.stringContaining("cannot be read with this machine's log key")]);
    await expect(createKey(foreign.keys, "mine", free, 2)).rejects.toMatchObject({ code: "degraded" });
    await a.keys.tryExchange();
    expect(a.issued.callerOf(key)?.name).toBe("ci");
  });

  test("a copy that cannot be written is reported, and the keys of the store still work", async () => {
    const { url } = await redisServer();
    const [a, b] = [await machine(url), await machine(url)];
    await openKeysFile(b.file).change((keys) => keys);
    chmodSync(b.file, 0o644);
    const key = await createKey(a.keys, "ci", free, 1);
    await b.keys.tryExchange();
    await b.keys.tryExchange();
    expect(b.problems).toEqual([expect.stringContaining("others may read it")]);
    expect(b.issued.callerOf(key)?.name).toBe("ci");
    await revokeKey(a.keys, "ci", 2);
    await b.keys.tryExchange();
    expect(b.issued.callerOf(key)).toBeUndefined();
  });
});

test("of two copies of a key the newer one holds, and a revoked one stays revoked", () => {
  const record = (part: Partial<KeyRecord>): KeyRecord => ({
    id: "1",
    name: "ci",
    createdAtMs: 0,
    salt: "s",
    hash: "",
    models: [],
    apis: [],
    ...part,
  });
  const rotated = record({ hash: "new", revision: 1 });
  const revoked = record({ revokedAtMs: 5, revision: 1 });
  const states = [record({}), rotated, revoked, record({ hash: "newest", revision: 2 })];
  for (const a of states)
    for (const b of states) {
      const [merged] = mergeKeys([a], [b]);
      expect(mergeKeys([b], [a])[0]).toMatchObject({ hash: merged?.hash });
      expect(merged === revoked).toBe(a === revoked || b === revoked);
    }
  expect(mergeKeys([record({})], [rotated])).toEqual([rotated]);
});
