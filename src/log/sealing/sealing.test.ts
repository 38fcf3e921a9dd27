import { createCipheriv } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { startOfLog, type TurnId } from "../../base/ids.ts";
import { Secret } from "../../base/secret.ts";
import type { TurnEventBody } from "../event.ts";
import type { EventRow, LogMedium } from "../medium/medium.ts";
import { openLog } from "../medium/open-log.ts";
import { MemoryMedium } from "../memory/memory-medium.ts";
import { readAll } from "../read-all.ts";
import { defaultRetention } from "../retention.ts";
import { openSqliteLog } from "../sqlite/open-sqlite-log.ts";
import { describeLogStore } from "../store.conformance.ts";
import { newTurn, plainRequest } from "../turn.fake.ts";
import { open, seal } from "./box.ts";
import { cipherKey, deriveKey, encodeKey, parseKey } from "./keys.ts";
import { sealedCodec } from "./sealed-codec.ts";

const gatewayKey = encodeKey(Uint8Array.from({ length: 32 }, (_, i) => i));
const clientKey = encodeKey(Uint8Array.from({ length: 32 }, (_, i) => 255 - i));
const otherKey = encodeKey(new Uint8Array(32));
const text = (delta: string): TurnEventBody => ({ type: "text", delta });
const finished: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "ab" };

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

/** A sealed log in memory whose rows a test can change on their way out. */
function tamperable(key: Secret = gatewayKey) {
  const clock = new FakeClock();
  const inner = new MemoryMedium();
  let tamper: (events: readonly EventRow[]) => readonly EventRow[] = (events) => events;
  const medium: LogMedium = new Proxy(inner, {
    get(target, name) {
      if (name !== "read") {
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      }
      return async (...values: Parameters<LogMedium["read"]>) => {
        const found = await target.read(...values);
        return found === undefined ? undefined : { ...found, events: tamper(found.events) };
      };
    },
  });
  const store = openLog({ medium, codec: sealedCodec(key), clock, retention: defaultRetention });
  return { clock, store, medium, inner, tamperWith: (change: typeof tamper) => (tamper = change) };
}

async function smallLog(store: ReturnType<typeof tamperable>["store"], nowMs: number): Promise<TurnId> {
  const { record, writer } = await store.create(newTurn(), "o");
  await writer?.append([text("a"), text("b")], nowMs);
  await writer?.append([finished], nowMs);
  return record.turnId;
}

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

  test("never reuses a nonce for the records of a turn", () => {
    const { codec } = sealedCodec(encodeKey(new Uint8Array(32).fill(3))).newTurn("turn_1" as TurnId, undefined);
    const place = { epoch: 1, kind: "text", atMs: 1, text: "the same" } as const;
    const nonces = Array.from({ length: 1_000 }, (_, seq) =>
      Buffer.from(codec.encode({ ...place, seq }, new Uint8Array(16)).payload.subarray(0, 12)).toString("hex"),
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

describe("a turn that its client sealed", () => {
  test("is unknown without the client's key or with another, in the same words as one that never was", async () => {
    const { clock, store } = tamperable();
    const { record, writer } = await store.create(newTurn(), "o", { clientKey });
    await writer?.append([text("a")], clock.now());
    const said = async (turnId: TurnId, key: Secret | undefined) =>
      store.readAfter(turnId, startOfLog, { limit: 9, clientKey: key }).then(
        ({ events }) => `${events.length} events`,
        (error: Error) => JSON.stringify(error),
      );
    const never = "turn_never" as TurnId;
    for (const key of [undefined, otherKey]) {
      expect(await said(record.turnId, key)).toBe(await said(never, key));
    }
    expect(await store.get(record.turnId, { clientKey: otherKey })).toBeUndefined();
    expect(await said(record.turnId, clientKey)).toBe("1 events");
  });

  test("is listed as sealed: when, which model, how it ended, and no word of it", async () => {
    const { clock, store } = tamperable();
    const said = { role: "user" as const, parts: [{ type: "text" as const, text: "a secret" }] };
    const turn = newTurn({ dialect: "idempotent", project: "p", request: { ...plainRequest, messages: [said] } });
    const { writer } = await store.create(turn, "o", { clientKey });
    await writer?.append([text("a"), finished], clock.now());
    const [listed] = await store.list({ limit: 5 });
    expect(listed).toMatchObject({
      turnId: turn.turnId,
      sealed: true,
      dialect: "idempotent",
      outcome: "finished",
      project: "p",
    });
    expect(listed?.request).toMatchObject({ model: plainRequest.model, messages: [] });
    expect(await store.get(turn.turnId)).toEqual(listed);
    expect((await store.get(turn.turnId, { clientKey }))?.sealed).toBeUndefined();
  });

  test("shows the gateway's owner an outline, but not under another gateway's key, and not after a change", async () => {
    const { clock, store, medium, tamperWith } = tamperable();
    const { record, writer } = await store.create(newTurn(), "o", { clientKey });
    const { turnId } = record;
    await writer?.append([text("a"), text("bc"), finished], clock.now());
    const outline = (from = store) => from.readOutlineAfter(turnId, startOfLog, { limit: 9 });
    expect((await outline()).events).toMatchObject([{ characters: 1 }, { characters: 2 }, { reason: "stop" }]);
    const elsewhere = openLog({ medium, codec: sealedCodec(otherKey), clock, retention: defaultRetention });
    await expect(outline(elsewhere)).rejects.toMatchObject({ code: "invalid_request" });
    const swapped = ([a, b, c]: readonly EventRow[]) =>
      a && b && c ? [{ ...a, outline: b.outline }, { ...b, outline: a.outline }, c] : [];
    const later = (rows: readonly EventRow[]) => rows.map((row) => ({ ...row, atMs: row.atMs + 1 }));
    const shorter = (rows: readonly EventRow[]) => rows.slice(1);
    for (const change of [swapped, later, shorter]) {
      tamperWith(change);
      await expect(outline()).rejects.toMatchObject({ code: "internal" });
    }
  });

  test("says of an event that an older version wrote only that it is there", async () => {
    const { clock, store, tamperWith } = tamperable();
    const { record, writer } = await store.create(newTurn(), "o", { clientKey });
    await writer?.append([text("a"), finished], clock.now());
    tamperWith((rows) => rows.map((row) => ({ ...row, outline: new Uint8Array(0) })));
    expect(await store.readOutlineAfter(record.turnId, startOfLog, { limit: 9 })).toMatchObject({
      events: [
        { type: "unknown", eventId: "a1", atMs: clock.now() },
        { type: "unknown", eventId: "a2", atMs: clock.now() },
      ],
      ended: true,
    });
  });

  test("can be continued by the gateway while it runs, and opened only by the client once it has ended", async () => {
    const { clock, store, inner } = tamperable();
    const { record } = await store.create(newTurn(), "o", { clientKey });
    const { turnId } = record;
    expect((await store.listRunning()).map((running) => running.turnId)).toEqual([turnId]);
    const claimed = await store.claim(turnId, "next");
    await claimed?.writer.append([text("a"), finished], clock.now());
    expect(await store.listRunning()).toEqual([]);
    const row = await inner.get(turnId);
    expect(sealedCodec(gatewayKey).openTurn(row, "runner")).toBeUndefined();
    expect(await store.readAfter(turnId, startOfLog, { limit: 9, clientKey })).toMatchObject({ ended: true });
  });
});

test("no file of a sealed log holds a word of prompt, answer, thinking, tools, key, session or error (G9)", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-log-"));
  const clock = new FakeClock();
  const canary = (n: number) => `canary-${n}-7f3a9c`;
  const { store } = await openSqliteLog({ path: join(folder, "log.db"), clock, codec: sealedCodec(gatewayKey) });
  const request = {
    ...plainRequest,
    messages: [{ role: "user" as const, parts: [{ type: "text" as const, text: canary(0) }] }],
  };
  const turn = newTurn({
    request,
    idempotencyKey: canary(1),
    session: canary(2),
    fingerprint: canary(3),
    wire: canary(4),
  });
  const { idempotencyKey: _its, ...another } = newTurn({ ...turn, turnId: newTurn().turnId });
  const own = await store.create(turn, "o");
  const sealed = await store.create({ ...another, idempotencyKey: canary(10) }, "o", { clientKey });
  for (const { writer } of [own, sealed]) {
    await writer?.append(
      [
        text(canary(5)),
        { type: "thinking", delta: canary(6) },
        { type: "tool_call", callId: "1", name: canary(7), argumentsDelta: canary(8), done: true },
        { type: "failed", error: { code: "upstream_failed", message: canary(9), hint: "" } },
      ],
      clock.now(),
    );
  }
  const search = async () => {
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name))));
    expect(files.length).toBeGreaterThan(1);
    return files.some((bytes) => bytes.includes("7f3a9c"));
  };
  expect(await search()).toBe(false);
  await store.close();
  const clear = await openSqliteLog({ path: join(folder, "clear.db"), clock });
  await clear.store.create(turn, "o");
  expect(await search()).toBe(true); // the search itself finds what is there
  await clear.store.close();
  await rm(folder, { recursive: true, force: true });
});

async function tamperlessRows(store: ReturnType<typeof tamperable>["store"], turnId: TurnId) {
  return store.readAfter(turnId, startOfLog, { limit: 10 });
}
