import { createCipheriv, createHash, createHmac } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { startOfLog, type TurnId } from "../../base/ids.ts";
import { Secret } from "../../base/secret.ts";
import type { EventRow } from "../medium/medium.ts";
import { openLog } from "../medium/open-log.ts";
import { MemoryMedium } from "../memory/memory-medium.ts";
import { readAll } from "../read-all.ts";
import { defaultRetention } from "../retention.ts";
import { openSqliteLog } from "../sqlite/open-sqlite-log.ts";
import { describeLogStore } from "../store.conformance.ts";
import { newTurn } from "../turn.fake.ts";
import { open, seal } from "./box.ts";
import { cipherKey, deriveKey, encodeKey, parseKey } from "./keys.ts";
import { sealedCodec } from "./sealed-codec.ts";
import { finished, gatewayKey, otherKey, smallLog, tamperable, text } from "./tamperable.fake.ts";

describeLogStore("sealed memory", { survivesRestart: false, sharedBetweenProcesses: false }, async () => ({
  open: async (clock) =>
    openLog({ medium: new MemoryMedium(), codec: sealedCodec(gatewayKey), clock, retention: defaultRetention }),
  dispose: async () => {},
}));

describeLogStore("sealed sqlite", { survivesRestart: true, sharedBetweenProcesses: true }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-log-"));
  const path = join(folder, "log.db");
  return {
    open: async (clock) => (await openSqliteLog({ path, clock, codec: sealedCodec(gatewayKey) })).store,
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});

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

  test("of a record opens only after the record that it was written after", () => {
    const { codec } = sealedCodec(gatewayKey).newTurn("turn_1" as TurnId, undefined);
    const place = { epoch: 1, kind: "text", atMs: 1 } as const;
    const [first, instead] = ["a", "x"].map((text) => codec.encode({ ...place, seq: 1 }, text, new Uint8Array(0)));
    if (first === undefined || instead === undefined) throw new Error("two records were sealed");
    const second = { ...place, seq: 2, ...codec.encode({ ...place, seq: 2 }, "b", first.mac) };
    expect(codec.decode(second, first.mac)).toBe("b");
    for (const mac of [instead.mac, new Uint8Array(0), first.mac.subarray(1)])
      expect(() => codec.decode(second, mac)).toThrow("changed or damaged");
  });

  test("never reuses a nonce for the records of a turn", () => {
    const { codec } = sealedCodec(encodeKey(new Uint8Array(32).fill(3))).newTurn("turn_1" as TurnId, undefined);
    const place = { epoch: 1, kind: "text", atMs: 1 } as const;
    const nonces = Array.from({ length: 1_000 }, (_, seq) =>
      Buffer.from(codec.encode({ ...place, seq }, "the same", new Uint8Array(16)).payload.subarray(0, 12)).toString(
        "hex",
      ),
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
  test("with any single byte of any record changed shows nothing of that record (G10)", async () => {
    const { clock, store, tamperWith } = tamperable();
    const turnId = await smallLog(store, clock.now());
    const { events: rows } = (await tamperlessRows(store, turnId)) ?? { events: [] };
    expect(rows).toHaveLength(3);
    for (const field of ["payload", "mac"] as const) {
      const longest = 400;
      for (let row = 0; row < 3; row++) {
        for (let at = 0; at < longest; at++) {
          let touched = false;
          tamperWith((events) =>
            events.map((event, i) => {
              if (i !== row || at >= event[field].length) return event;
              touched = true;
              const bytes = Uint8Array.from(event[field]);
              bytes[at] = (bytes[at] ?? 0) ^ 0x01;
              return { ...event, [field]: bytes };
            }),
          );
          const outcome = await readAll(store, turnId).then(
            () => "shown",
            (error: { code?: string }) => error.code,
          );
          expect(outcome).toBe(touched ? "internal" : "shown");
          if (!touched) break;
        }
      }
    }
  });

  test.each<[string, (events: readonly EventRow[]) => readonly EventRow[]]>([
    ["dropped", ([, ...rest]) => rest],
    ["cut off", (events) => events.slice(0, -1)],
    ["repeated", ([first, ...rest]) => (first === undefined ? [] : [first, first, ...rest])],
    ["swapped", ([a, b, ...rest]) => (a === undefined || b === undefined ? [] : [b, a, ...rest])],
    ["swapped and renumbered", ([a, b, ...rest]) => (a && b ? [{ ...b, seq: 1 }, { ...a, seq: 2 }, ...rest] : [])],
    ["moved in time", (events) => events.map((event) => ({ ...event, atMs: event.atMs + 1 }))],
    ["given another kind", (events) => events.map((event) => ({ ...event, kind: "thinking" }))],
    ["given another epoch", (events) => events.map((event) => ({ ...event, epoch: event.epoch + 1 }))],
    ["ended early", ([first]) => (first === undefined ? [] : [{ ...first, kind: "finished" }])],
  ])("whose records were %s is not shown", async (_, change) => {
    const { clock, store, tamperWith } = tamperable();
    const turnId = await smallLog(store, clock.now());
    tamperWith(change);
    await expect(readAll(store, turnId)).rejects.toMatchObject({ code: "internal" });
  });

  test("shows the records of older versions, also with newer ones after them, and nothing if one was changed", async () => {
    const { clock, store, tamperWith, inner } = tamperable();
    const { turnId } = (await store.create(newTurn(), "o")).record;
    const older = olderRecords((await inner.get(turnId))?.wrappedKey, turnId, clock.now());
    await inner.append(turnId, { epoch: 1, afterSeq: 0, events: older, end: undefined });
    const claimed = await store.claim(turnId, "next");
    await claimed?.writer.append([text("c"), finished], clock.now());
    expect(await readAll(store, turnId)).toMatchObject([
      { delta: "a" },
      { delta: "b" },
      { delta: "c" },
      { text: "ab" },
    ]);
    for (const field of ["payload", "mac"] as const) {
      tamperWith((rows) => rows.map((row, i) => (i === 0 ? { ...row, [field]: flipped(row[field]) } : row)));
      await expect(readAll(store, turnId)).rejects.toMatchObject({ code: "internal" });
    }
    tamperWith(([first, second, ...rest]) =>
      first && second ? [{ ...second, seq: 1 }, { ...first, seq: 2 }, ...rest] : [],
    );
    await expect(readAll(store, turnId)).rejects.toMatchObject({ code: "internal" });
  });

  test("does not take another turn's record for its own", async () => {
    const { clock, store, tamperWith, inner } = tamperable();
    const turnId = await smallLog(store, clock.now());
    const other = await smallLog(store, clock.now());
    const foreign = (await inner.read(other, 0, { events: 10, bytes: 1_000 }))?.events ?? [];
    tamperWith(() => foreign);
    await expect(readAll(store, turnId)).rejects.toMatchObject({ code: "internal" });
  });

  test("under another gateway key cannot be read", async () => {
    const { clock, store, inner } = tamperable();
    const turnId = await smallLog(store, clock.now());
    const stranger = openLog({ medium: inner, codec: sealedCodec(otherKey), clock, retention: defaultRetention });
    expect(await stranger.get(turnId)).toBeUndefined();
    expect(await stranger.list({ limit: 5 })).toEqual([]);
    await expect(stranger.readAfter(turnId, startOfLog, { limit: 1 })).rejects.toMatchObject({
      code: "invalid_request",
    });
  });
});

function flipped(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte, at) => (at === 20 || (at === 3 && bytes.length < 20) ? byte ^ 1 : byte));
}

/** Two records of text as versions before the chain of tags wrote them: a whole box, and an HMAC over the one before. */
function olderRecords(wrappedKey: Uint8Array = new Uint8Array(0), turnId: TurnId, atMs: number): EventRow[] {
  const wrapping = deriveKey(parseKey(gatewayKey), "wrap");
  const turnKey = cipherKey(open(wrapping, wrappedKey.subarray(1), `gateway ${turnId}`) ?? new Uint8Array(32));
  let mac: Uint8Array = new Uint8Array(0);
  return ["a", "b"].map((delta, i) => {
    const place = `record ${turnId} ${i + 1} 1 text ${atMs}`;
    const payload = seal(
      deriveKey(turnKey, "content", turnId),
      Buffer.from(JSON.stringify({ body: text(delta) })),
      place,
    );
    const digest = createHash("sha256").update(payload).digest();
    const hmac = createHmac("sha256", deriveKey(turnKey, "mac", turnId))
      .update(mac)
      .update(`${place}\n`)
      .update(digest);
    mac = hmac.digest().subarray(0, 16);
    return { seq: i + 1, epoch: 1, kind: "text", atMs, payload, mac, outline: new Uint8Array(0) };
  });
}

async function tamperlessRows(store: ReturnType<typeof tamperable>["store"], turnId: TurnId) {
  return store.readAfter(turnId, startOfLog, { limit: 10 });
}
