import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { Emitter } from "../../base/emitter.ts";
import type { MillraceError } from "../../base/errors.ts";
import type { Secret } from "../../base/secret.ts";
import type { StoreLifecycle } from "../../log/lifecycle.ts";
import { openLiveLog } from "../../log/live/open-live-log.ts";
import { openMemoryLog } from "../../log/memory/open-memory-log.ts";
import { loadRedisLog } from "../../log/redis/load-redis-log.ts";
import type { Retention } from "../../log/retention.ts";
import { encodeKey, keyBytes } from "../../log/sealing/keys.ts";
import { openLogKey } from "../../log/sealing/log-key.ts";
import { sealedCodec } from "../../log/sealing/sealed-codec.ts";
import type { Damage } from "../../log/sqlite/damage.ts";
import { inspectSqliteLog } from "../../log/sqlite/inspect-sqlite-log.ts";
import { openSqliteLog } from "../../log/sqlite/open-sqlite-log.ts";
import type { LogStore } from "../../log/store.ts";
import type { StoreWeakness } from "../../log/weakness.ts";
import { ownerIsGone } from "../gateway-process/owner.ts";
import type { RedisAddress } from "./redis-address.ts";

export interface StoreOptions {
  /** The SQLite file; undefined keeps the log in memory, unless there is a Redis server. */
  readonly storeFile: string | undefined;
  /** The Redis server that gateways share; then the file is not used for the log. */
  readonly redis: RedisAddress | undefined;
  /** The file of the key that seals the log; created if missing. */
  readonly logKeyFile: string;
  readonly retention: Retention;
  /** The name of this process among those that share the store. */
  readonly owner: string;
  readonly clock: Clock;
  readonly events: Emitter<StoreLifecycle>;
}

export interface OpenedStore {
  readonly store: LogStore;
  /** The damage found in the file since the gateway began. */
  readonly damage: () => Damage | undefined;
  /** How many turns in the file cannot be read, because its key was lost and a new one was made. */
  readonly unreadableTurns: number;
  /** The current reasons why the store may lose an acknowledged write. */
  readonly weaknesses: () => readonly StoreWeakness[];
  /** Why the store could not be opened, while it cannot. */
  readonly degradedBy: () => MillraceError | undefined;
}

/** A locked file is tried again every second, and answers must not wait for most of that second. */
const retryTimeoutMs = 100;

/** The gateway's log, or memory while the log fails. A failure is reported once. */
export async function openStore(options: StoreOptions): Promise<OpenedStore> {
  const { storeFile, redis, retention, owner, clock, events } = options;
  const file = redis === undefined ? storeFile : undefined;
  const unreadableTurns = file === undefined || existsSync(options.logKeyFile) ? 0 : await turnsIn(file);
  let damage: Damage | undefined;
  events.on("store_damaged", (found) => {
    damage = found;
  });
  let weaknesses: readonly StoreWeakness[] = [];
  events.on("store_weakened", (found) => ({ weaknesses } = found));
  let tries = 0;
  let key: Secret | undefined;
  const openCodec = async () => {
    key = await openLogKey(options.logKeyFile, key);
    return sealedCodec(key);
  };
  // the key's file was taken away with the folder of the store, as a rule
  events.on("store_restored", () => void bestEffort(openLogKey(options.logKeyFile, key)));
  const openRedisLog = redis === undefined ? undefined : await loadRedisLog(); // no client is no failure that passes
  const opening =
    redis !== undefined && openRedisLog !== undefined
      ? async () => openRedisLog({ url: redis.url.reveal(), clock, retention, codec: await openCodec(), events })
      : storeFile !== undefined
        ? async () => {
            const patience = tries++ === 0 ? {} : { openTimeoutMs: retryTimeoutMs };
            const opened = await openSqliteLog({
              ...patience,
              path: storeFile,
              clock,
              retention,
              codec: await openCodec(),
              ownerIsGone: (other) => ownerIsGone(other, owner),
              events,
            });
            return opened.store;
          }
        : undefined;
  // Sealed as a file is, under a key that is not stored, so that only the client can read its turns here too.
  const codec = sealedCodec(encodeKey(randomBytes(keyBytes)));
  if (opening === undefined)
    return {
      store: openMemoryLog({ clock, codec, retention }),
      damage: () => undefined,
      unreadableTurns,
      weaknesses: () => [],
      degradedBy: () => undefined,
    };
  const shared = redis === undefined ? {} : { sharedBetweenMachines: true as const };
  const capabilities = { survivesRestart: true, sharedBetweenProcesses: true, ...shared };
  const store = await openLiveLog({ clock, retention, capabilities, codec, open: opening, events });
  return {
    store,
    damage: () => damage,
    unreadableTurns,
    weaknesses: () => weaknesses,
    degradedBy: () => store.degradedBy,
  };
}

async function turnsIn(file: string): Promise<number> {
  const state = await inspectSqliteLog(file);
  return state.kind === "sound" ? state.turns : 0;
}
