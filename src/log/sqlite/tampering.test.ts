import { mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { Secret } from "../../base/secret.ts";
import type { StreamName } from "../client-stream.ts";
import type { TurnEventBody } from "../event.ts";
import { readAll } from "../read-all.ts";
import { sealedCodec } from "../sealing/sealed-codec.ts";
import type { LogStore } from "../store.ts";
import { newTurn } from "../turn.fake.ts";
import { openSqliteLog } from "./open-sqlite-log.ts";
import { turnNumber } from "./rows.ts";

const key = (byte: number) => new Secret(Buffer.alloc(32, byte).toString("base64url"));
/** Every how many-th byte is changed in turn; `MILLRACE_FLIP_STRIDE=1` is all of them. */
const stride = Number(process.env["MILLRACE_FLIP_STRIDE"] ?? 5);
const codec = sealedCodec(key(7));
const clock = new FakeClock();
const text = (delta: string): TurnEventBody => ({ type: "text", delta });
const finished: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "abc" };
const turn = newTurn({ idempotencyKey: "k", session: "s", wire: { a: 1 } });
const sealedTurn = newTurn();
const stream: StreamName = { caller: "caller-1", name: "stream", clientKey: key(9) };

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-log-"));
  path = join(folder, "log.db");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A small sealed log: a turn of four events that has ended, and a client's stream with a message. */
async function smallLog(): Promise<LogStore> {
  const { store } = await openSqliteLog({ path, clock, codec });
  const { writer } = await store.create(turn, "o");
  await writer?.append([text("a"), text("b"), text("c"), finished], clock.now());
  const sealed = await store.create(sealedTurn, "o", { clientKey: key(9) });
  await sealed.writer?.append([text("abcdefg"), text("h"), finished], clock.now());
  const attached = await store.attachStream(stream, "create");
  await store.admit(attached, { seqno: 0, payload: new TextEncoder().encode("what the client said") });
  return store;
}

/** Everything that the log shows to a reader, as text, or the code of the error that it throws instead. */
async function shown(store: LogStore): Promise<readonly string[]> {
  const attempts: readonly (() => Promise<unknown>)[] = [
    () => store.get(turn.turnId),
    () => readAll(store, turn.turnId),
    () => store.get(sealedTurn.turnId),
    () => store.get(sealedTurn.turnId, { clientKey: key(9) }),
    () => store.readAfter(sealedTurn.turnId, "0" as never, { limit: 9, clientKey: key(9) }),
    () => store.readOutlineAfter(sealedTurn.turnId, "0" as never, { limit: 9 }),
    async () =>
      (await store.attachStream(stream, "resume")).accepted.map(({ payload }) => Buffer.from(payload).toString()),
  ];
  const answers: string[] = [];
  for (const attempt of attempts) {
    answers.push(
      await attempt().then(
        (answer) => JSON.stringify(answer) ?? "unknown",
        (error: { code?: string }) => error.code ?? "?",
      ),
    );
  }
  return answers;
}

describe("a sealed log in SQLite", () => {
  test("with any single byte of any sealed column changed shows less, never anything else (G10)", {
    timeout: 600_000,
  }, async () => {
    const store = await smallLog();
    const database = new DatabaseSync(path);
    database.exec("PRAGMA synchronous = OFF");
    const whole = await shown(store);
    expect(whole.join()).toContain("what the client said");
    const columns = [
      ["headers", "header"] as const,
      ...["label", "wrapped_key", "last_mac"].map((name) => ["turns", name] as const),
      ...["payload", "mac", "outline"].map((name) => ["events", name] as const),
      ["streams", "wrapped_key"] as const,
      ["messages", "box"] as const,
    ];
    let flips = 0;
    const unnoticed = new Set<string>();
    const invented: string[] = [];
    for (const [table, column] of columns) {
      const rows = database.prepare(`SELECT rowid AS id, ${column} AS bytes FROM ${table}`).all();
      const write = database.prepare(`UPDATE ${table} SET ${column} = ? WHERE rowid = ?`);
      for (const { id, bytes } of rows as unknown as readonly { id: number; bytes: Uint8Array }[]) {
        for (let at = 0; at < bytes.length; at += stride) {
          const changed = Uint8Array.from(bytes);
          changed[at] = (changed[at] ?? 0) ^ 0x01;
          write.run(changed, id);
          const now = await shown(store);
          flips += 1;
          if (now.every((answer, i) => answer === whole[i]))
            unnoticed.add(column === "last_mac" ? "turns.last_mac" : `${table}.${column}, byte ${at}`);
          for (const answer of now) {
            if (!whole.includes(answer) && !["internal", "expired", "unknown", "invalid_request"].includes(answer))
              invented.push(`${table}.${column}, byte ${at}: ${answer}`);
          }
        }
        write.run(bytes, id);
      }
    }
    expect(invented).toEqual([]);
    expect(flips).toBeGreaterThan(1_000 / stride);
    // the row's copy of the last record's MAC is for its writer only; it tells nothing to the owner of the client's key
    // whether the turn runs
    expect([...unnoticed].sort()).toEqual([
      "streams.wrapped_key, byte 0",
      "turns.last_mac",
      "turns.wrapped_key, byte 0",
    ]);
    expect(await shown(store)).toEqual(whole);
    database.close();
    await store.close();
  });

  test("that was set back to any earlier length shows no end, and refuses a later cursor (G10)", async () => {
    const store = await smallLog();
    const { events } = await store.readAfter(turn.turnId, "0" as never, { limit: 9 });
    const last = events.at(-1)?.eventId;
    if (last === undefined) throw new Error("no events");
    const database = new DatabaseSync(path);
    const macs = database
      .prepare(`SELECT mac FROM events WHERE turn = ${turnNumber} ORDER BY seq`)
      .all(turn.turnId) as unknown as readonly {
      mac: Uint8Array;
    }[];
    for (let kept = 3; kept >= 1; kept--) {
      database.prepare("DELETE FROM events WHERE seq > ?").run(kept);
      for (const outcome of ["finished", null]) {
        database
          .prepare("UPDATE turns SET last_seq = ?, last_mac = ?, outcome = ?")
          .run(kept, macs[kept - 1]?.mac ?? new Uint8Array(0), outcome);
        const read = await store.readAfter(turn.turnId, "0" as never, { limit: 9 });
        expect(read.events).toEqual(events.slice(0, kept));
        await expect(store.readAfter(turn.turnId, last, { limit: 9 })).rejects.toMatchObject({
          code: "invalid_request",
        });
      }
    }
    database.close();
    await store.close();
  });
});

describe("a log's file that is damaged", () => {
  /** A file of some dozen pages, all of them in use and none in the write-ahead log. */
  async function grownLog(): Promise<Buffer> {
    const store = await smallLog();
    const { writer } = await store.create(newTurn(), "o");
    for (let i = 0; i < 40; i++) await writer?.append([text("x".repeat(2_000))], clock.now());
    await store.close();
    return readFile(path);
  }

  test.each<[string, (bytes: Buffer) => Promise<void>]>([
    ["in its header", (bytes) => writeFile(path, bytes.fill(0, 0, 100))],
    ["in a page in its middle", (bytes) => writeFile(path, bytes.fill(0xff, 4_096 * 8, 4_096 * 9))],
    ["by a cut in its middle", (bytes) => truncate(path, Math.floor(bytes.length / 2 / 4_096) * 4_096)],
    ["by the loss of its last page", (bytes) => truncate(path, bytes.length - 4_096)],
  ])("%s is set aside as it is, said, and never deleted", async (_, damage) => {
    const bytes = await grownLog();
    expect(bytes.length).toBeGreaterThan(4_096 * 16);
    await damage(bytes);
    const damaged = await readFile(path);
    const first = await openSqliteLog({ path, clock, codec });
    expect(await readFile(first.setAside ?? "nothing was set aside")).toEqual(damaged);
    expect(await first.store.list({ limit: 9 })).toEqual([]);
    await first.store.close();
    const next = await openSqliteLog({ path, clock, codec });
    expect(next.setAside).toBeUndefined();
    await next.store.close();
  });
});
