import { createCipheriv } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { startOfLog } from "../../base/ids.ts";
import { Secret } from "../../base/secret.ts";
import { readAll } from "../read-turn.ts";
import type { Entry, Row } from "../rows.ts";
import { newTurn } from "../turn.fake.ts";
import { cipherKey, deriveKey, encodeKey, open, parseKey, seal } from "./keys.ts";
import { noTag, Sealer, tagOf } from "./sealer.ts";
import { gatewayKey, otherKey, smallLog, tamperable } from "./tamperable.fake.ts";

describe("a box", () => {
  test("opens to what was sealed, under the same key and binding only (P9)", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.string(), (content, bound) => {
        const key = deriveKey(parseKey(gatewayKey), "test");
        const box = seal(key, content, bound);
        expect(new Uint8Array(open(key, box, bound) ?? [])).toEqual(content);
        expect(open(key, box, `${bound}.`)).toBeUndefined();
        expect(open(deriveKey(parseKey(otherKey), "test"), box, bound)).toBeUndefined();
      }),
    );
  });

  test("with any single byte changed, or cut anywhere, does not open (P9)", () => {
    const key = deriveKey(parseKey(gatewayKey), "test");
    const box = seal(key, Buffer.from("a sealed record"), "place");
    for (let at = 0; at < box.length; at++) {
      for (const flip of [0x01, 0x80, 0xff]) {
        const changed = Uint8Array.from(box);
        changed[at] = (changed[at] ?? 0) ^ flip;
        expect(open(key, changed, "place")).toBeUndefined();
      }
      expect(open(key, box.subarray(0, at), "place")).toBeUndefined();
    }
  });

  test("is AES-256-GCM as the published vector has it", () => {
    const key = cipherKey(Buffer.from("ac2baf6c5083ae80007ee5eaba2ade32669ed945fab0598dc64d623da496b350", "hex"));
    const cipher = createCipheriv("aes-256-gcm", key, Buffer.alloc(12)).setAAD(Buffer.from("aad"));
    const vector = Buffer.concat([Buffer.alloc(12), cipher.update("Hi"), cipher.final(), cipher.getAuthTag()]);
    expect(vector.toString("hex")).toBe(`${"00".repeat(12)}bd613da09e286ae81a8b9425b2140db6cf3a`);
    expect(Buffer.from(open(key, vector, "aad") ?? []).toString()).toBe("Hi");
  });

  test("of an entry opens only after the entry that it was written after", () => {
    const { box } = new Sealer(gatewayKey).newBox("turn_1", undefined);
    const [first, instead] = ["a", "x"].map((content) => box.sealEntry(1, content, noTag));
    if (first === undefined || instead === undefined) throw new Error("two entries were sealed");
    const second = { seq: 2, bytes: box.sealEntry(2, "b", tagOf(first)) };
    expect(box.openEntry(second, tagOf(first))).toBe("b");
    expect(box.openEntry(second, undefined)).toBe("b");
    for (const tag of [tagOf(instead), noTag, tagOf(first).subarray(1)])
      expect(() => box.openEntry(second, tag)).toThrow("changed or damaged");
  });

  test("never reuses a nonce for the entries of a turn", () => {
    const { box } = new Sealer(encodeKey(new Uint8Array(32).fill(3))).newBox("turn_1", undefined);
    const nonces = Array.from({ length: 1_000 }, (_, seq) =>
      Buffer.from(box.sealEntry(seq, "the same", noTag).subarray(16, 28)).toString("hex"),
    );
    expect(new Set(nonces).size).toBe(1_000);
  });

  test("never reuses a nonce for the same content", () => {
    const key = deriveKey(parseKey(gatewayKey), "test");
    const boxes = new Set(
      Array.from({ length: 500 }, () => Buffer.from(seal(key, Buffer.from("x"), "")).toString("hex")),
    );
    expect(boxes.size).toBe(500);
  });
});

test.each(["", "AAAA", `${"A".repeat(42)}B`, `${"A".repeat(43)}=`, `${"A".repeat(42)} `, "A".repeat(44)])(
  "%j is no key: there is one spelling for 32 bytes",
  (spelling) => {
    expect(() => parseKey(new Secret(spelling))).toThrow("32 bytes");
  },
);

describe("a sealed log", () => {
  test("with any single byte of any entry changed shows nothing of that entry (G10)", async () => {
    const { clock, store, reader, rows, tamperWith } = await tamperable();
    const turnId = await smallLog(store, clock.now());
    const held = await rows.entries(turnId, 0, { count: 9, bytes: 99_999 });
    expect(held).toHaveLength(3);
    for (const [index, { bytes }] of held.entries()) {
      for (let at = 0; at < bytes.length; at++) {
        const changed = bytes.map((byte, i) => (i === at ? byte ^ 1 : byte));
        tamperWith((entries) => entries.map((entry, i) => (i === index ? { ...entry, bytes: changed } : entry)));
        await expect(readAll(reader, turnId)).rejects.toMatchObject({ code: "internal" });
      }
    }
    tamperWith((entries) => entries);
    expect(await readAll(reader, turnId)).toHaveLength(3);
  });

  test.each<[string, (entries: readonly Entry[]) => readonly Entry[]]>([
    ["dropped", ([, ...rest]) => rest],
    ["cut off", (entries) => entries.filter(({ seq }) => seq < 3)],
    ["repeated", ([first, ...rest]) => (first === undefined ? [] : [first, first, ...rest])],
    ["swapped", ([a, b, ...rest]) => (a === undefined || b === undefined ? [] : [b, a, ...rest])],
    ["swapped and renumbered", ([a, b, ...rest]) => (a && b ? [{ ...b, seq: 1 }, { ...a, seq: 2 }, ...rest] : [])],
  ])("whose entries were %s is not shown", async (_, change) => {
    const { clock, store, reader, tamperWith } = await tamperable();
    const turnId = await smallLog(store, clock.now());
    tamperWith(change);
    await expect(readAll(reader, turnId)).rejects.toMatchObject({ code: "internal" });
  });

  test.each<[string, Partial<Row>]>([
    ["another caller", { meta: { caller: "caller-2" } }],
    ["another owner", { owner: "somebody" }],
    ["a later expiry", { expiresAtMs: 1e15 }],
    ["no expiry", { expiresAtMs: undefined }],
    ["an earlier expiry", { expiresAtMs: 1 }],
    ["another end", { open: true }],
    ["fewer entries", { last: 2 }],
    ["another epoch", { epoch: 7 }],
    ["another time", { createdAtMs: 7 }],
    ["other tags", { tags: [] }],
    ["another proof", { proof: new Uint8Array(32) }],
  ])("whose row was given %s is damaged for every caller, and is not listed", async (_, change) => {
    const { clock, store, reader, tamperRowWith } = await tamperable();
    const turnId = await smallLog(store, clock.now());
    tamperRowWith((row) => ({ ...row, ...change, meta: { ...row.meta, ...change.meta } }));
    const damaged = { code: "internal", message: expect.stringContaining("changed or damaged") };
    await expect(readAll(reader, turnId)).rejects.toMatchObject(damaged);
    const { meta: { caller = "caller-1" } = {} } = change;
    await expect(reader.get(turnId, { caller: String(caller) })).rejects.toMatchObject(damaged);
    expect(await reader.list({ limit: 9 })).toEqual([]);
  });

  test("whose request was changed does not hide the other turns of its caller, and is still the turn of its key", async () => {
    const { store, reader, tamperRowWith } = await tamperable();
    const { record } = await store.create(newTurn({ caller: "caller-1", idempotencyKey: "k" }), "o");
    const other = await store.create(newTurn({ caller: "caller-1" }), "o");
    const change = (head: Uint8Array = new Uint8Array()) => head.map((byte) => byte ^ 1);
    tamperRowWith((row) => (row.id === record.turnId ? { ...row, head: change(row.head) } : row));
    const idsOf = async (filter: object) =>
      (await reader.list({ caller: "caller-1", ...filter, limit: 9 })).map(({ turnId }) => turnId);
    expect(await idsOf({})).toEqual([other.record.turnId, record.turnId]);
    expect(await idsOf({ idempotencyKey: "k" })).toEqual([record.turnId]);
    await expect(reader.get(record.turnId)).rejects.toMatchObject({ code: "internal" });
  });

  test("does not give one caller another one's turn, however the index of keys was changed", async () => {
    const { store, reader, rows, tamperRowWith } = await tamperable();
    const theirs = await store.create(newTurn({ caller: "caller-1", idempotencyKey: "k" }), "o");
    const mine = await store.create(newTurn({ caller: "caller-2", idempotencyKey: "k" }), "o");
    const row = await rows.get(theirs.record.turnId, true);
    if (row === undefined) throw new Error("it was stored");
    tamperRowWith(() => row);
    const again = newTurn({ caller: "caller-2", idempotencyKey: "k" });
    await expect(reader.create(again, "o")).rejects.toMatchObject({ code: "internal" });
    const found = reader.list({ caller: "caller-2", idempotencyKey: "k", limit: 1 });
    await expect(found).rejects.toMatchObject({ code: "internal" });
    tamperRowWith((same) => same);
    expect((await reader.create(again, "o")).record.turnId).toBe(mine.record.turnId);
  });

  test("does not take another turn's entry for its own", async () => {
    const { clock, store, reader, rows, tamperWith } = await tamperable();
    const turnId = await smallLog(store, clock.now());
    const other = await smallLog(store, clock.now());
    const foreign = await rows.entries(other, 0, { count: 10, bytes: 1_000 });
    tamperWith(() => foreign);
    await expect(readAll(reader, turnId)).rejects.toMatchObject({ code: "internal" });
  });

  test("under another gateway key cannot be read", async () => {
    const { clock, store, elsewhere } = await tamperable();
    const turnId = await smallLog(store, clock.now());
    const stranger = await elsewhere(otherKey);
    expect(await stranger.get(turnId)).toBeUndefined();
    expect(await stranger.list({ limit: 5 })).toEqual([]);
    await expect(stranger.readAfter(turnId, startOfLog, { limit: 1 })).rejects.toMatchObject({
      code: "invalid_request",
    });
  });
});
