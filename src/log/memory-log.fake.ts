import type { Clock } from "../base/clock.ts";
import type { Secret } from "../base/secret.ts";
import { Live, type LiveLog, openLog } from "./live.ts";
import type { Rows, RowsAbilities } from "./rows.ts";
import { encodeKey } from "./sealing/keys.ts";
import { openSqliteRows } from "./sqlite.ts";
import type { LogStore, Retention } from "./store.ts";

/** The gateway's key of every test. */
export const testKey = encodeKey(new Uint8Array(32).fill(1));

export const inMemory: RowsAbilities = {
  survivesRestart: false,
  isShared: false,
};

interface MemoryLogOptions {
  readonly clock: Clock;
  readonly retention?: Retention;
  readonly gatewayKey?: Secret;
  /** Rows that several logs share, or that fail; new ones by default. They outlive the log. */
  readonly rows?: Promise<Rows> | Rows;
}

export function memoryRows(): Promise<Rows> {
  return openSqliteRows({ path: ":memory:" });
}

/** A log in memory that can be used at once: each call waits until it is open. */
export function openMemoryLog({
  rows = memoryRows(),
  clock,
  retention,
  gatewayKey = testKey,
}: MemoryLogOptions): LogStore {
  const open = async () => ({ rows: unclosed(await rows), gatewayKey });
  const opening = openLog({ open, abilities: inMemory, clock, ...(retention === undefined ? {} : { retention }) });
  const names = Object.getOwnPropertyNames(Live.prototype).filter(
    (name) => name !== "constructor" && name !== "degradedBy" && name !== "open",
  );
  const methods = names.map((name) => [
    name,
    async (...values: unknown[]): Promise<unknown> => {
      const log: LogStore = await opening;
      return Reflect.apply(Reflect.get(log, name) as () => unknown, log, values); // one of its methods
    },
  ]);
  let opened: LogStore | undefined;
  void opening.then((log) => (opened = log));
  const atOnce: Pick<LogStore, "now" | "isEarlier" | "isUnclear"> = {
    now: () => clock.now(),
    isEarlier: (its, owner) => its !== owner,
    isUnclear: (turnId) => opened?.isUnclear(turnId) ?? false,
  };
  const prototype = { ...(Object.fromEntries(methods) as object), ...atOnce };
  return Object.assign(Object.create(prototype) as LogStore, { capabilities: inMemory });
}

function unclosed(rows: Rows): Rows {
  return {
    abilities: rows.abilities,
    commit: (ops, flush) => rows.commit(ops, flush),
    get: (id, withHead) => rows.get(id, withHead),
    find: (filter) => rows.find(filter),
    entries: (id, after, most) => rows.entries(id, after, most),
    changed: (id, signal) => rows.changed(id, signal),
    sweep: (nowMs, kinds) => rows.sweep(nowMs, kinds),
    close: async () => {},
  };
}

/** A log in a SQLite file. */
export function openFileLog({
  path,
  clock,
  gatewayKey = testKey,
  onSetAside = () => {},
}: {
  readonly path: string;
  readonly clock: Clock;
  readonly gatewayKey?: Secret;
  readonly onSetAside?: (copy: string) => void;
}): Promise<LiveLog> {
  const abilities = { survivesRestart: true, isShared: false };
  return openLog({
    open: async () => ({ rows: await openSqliteRows({ path, onSetAside }), gatewayKey }),
    abilities,
    clock,
  });
}
