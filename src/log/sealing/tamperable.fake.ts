import { FakeClock } from "../../base/clock.fake.ts";
import type { TurnId } from "../../base/ids.ts";
import type { Secret } from "../../base/secret.ts";
import type { TurnEventBody } from "../event.ts";
import { openLog } from "../live.ts";
import type { Entry, Row, Rows } from "../rows.ts";
import { openSqliteRows } from "../sqlite.ts";
import type { LogStore } from "../store.ts";
import { newTurn } from "../turn.fake.ts";
import { encodeKey } from "./keys.ts";

export const gatewayKey = encodeKey(Uint8Array.from({ length: 32 }, (_, i) => i));
export const clientKey = encodeKey(Uint8Array.from({ length: 32 }, (_, i) => 255 - i));
export const otherKey = encodeKey(new Uint8Array(32));
export const text = (delta: string): TurnEventBody => ({ type: "text", delta });
export const finished: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "ab" };

/** A log in memory, and a second process that reads it: on the way there a test can change what is stored. */
export async function tamperable() {
  const clock = new FakeClock();
  const rows = await openSqliteRows({ path: ":memory:" });
  let entriesAs: (entries: readonly Entry[]) => readonly Entry[] = (entries) => entries;
  let rowAs: (row: Row) => Row = (row) => row;
  const changed: Rows = {
    abilities: rows.abilities,
    commit: (ops, flush) => rows.commit(ops, flush),
    get: async (id, withHead) => {
      const row = await rows.get(id, withHead);
      return row && rowAs(row);
    },
    find: async (filter) => (await rows.find(filter)).map((row) => rowAs(row)),
    entries: async (id, after, most) => entriesAs(await rows.entries(id, after, most)),
    changed: (id, signal) => rows.changed(id, signal),
    sweep: (nowMs, kinds) => rows.sweep(nowMs, kinds),
    close: () => rows.close(),
  };
  const elsewhere = (key: Secret) =>
    openLog({ open: async () => ({ rows: changed, gatewayKey: key }), abilities: rows.abilities, clock });
  return {
    clock,
    rows,
    store: await openLog({ open: async () => ({ rows, gatewayKey }), abilities: rows.abilities, clock }),
    reader: await elsewhere(gatewayKey),
    elsewhere,
    tamperWith: (change: typeof entriesAs) => (entriesAs = change),
    tamperRowWith: (change: typeof rowAs) => (rowAs = change),
  };
}

export async function smallLog(store: LogStore, nowMs: number): Promise<TurnId> {
  const { record, writer } = await store.create(newTurn(), "o");
  await writer?.append([text("a"), text("b")], nowMs);
  await writer?.append([finished], nowMs);
  return record.turnId;
}
