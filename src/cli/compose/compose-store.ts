import { existsSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import type { Emitter } from "../../base/emitter.ts";
import { isDegraded, MillraceError } from "../../base/errors.ts";
import { barrierTo } from "../../base/node/file-access.ts";
import type { Secret } from "../../base/secret.ts";
import type { StoreLifecycle } from "../../log/lifecycle.ts";
import { type LiveLog, openLog, openMemoryLog } from "../../log/live.ts";
import { openRedisRows } from "../../log/redis.ts";
import type { Rows } from "../../log/rows.ts";
import { openLogKey } from "../../log/sealing/keys.ts";
import { inspectLogFile } from "../../log/sqlite/open-file.ts";
import { openSqliteRows } from "../../log/sqlite.ts";
import type { Retention } from "../../log/store.ts";
import type { RedisAddress } from "../options.ts";

export interface StoreOptions {
  /** The SQLite file; undefined keeps the log in memory, unless there is a Redis server. */
  readonly storeFile: string | undefined;
  /** The Redis server that gateways share; then the file is not used for the log. */
  readonly redis: RedisAddress | undefined;
  /** The id of this gateway's home. */
  readonly home: string;
  /** The file of the key that seals the log; created if missing. */
  readonly logKeyFile: string;
  readonly retention: Retention;
  readonly clock: Clock;
  readonly events: Emitter<StoreLifecycle>;
}

/** An opened store. `damage`: where the file is kept that was found damaged as the gateway began. `degradedBy`: why it cannot be opened, while it cannot. */
export type OpenedStore = Awaited<ReturnType<typeof openStore>>;

/** A locked file is tried again every second, and answers must not wait for most of that second. */
const retryTimeoutMs = 100;

/** The gateway's log, or memory while the log fails. A failure is reported once. */
export async function openStore(options: StoreOptions) {
  const { storeFile, redis, events, logKeyFile } = options;
  const file = redis === undefined ? storeFile : undefined;
  const unreadableTurns = file === undefined || existsSync(logKeyFile) ? 0 : await turnsIn(file);
  let damage: { readonly copy: string } | undefined;
  events.on("store_damaged", (found) => (damage = found));
  const store = await openOver(options);
  return { store, damage: () => damage, unreadableTurns, degradedBy: () => store.degradedBy };
}

function openOver({ storeFile, redis, home, logKeyFile, clock, retention, events }: StoreOptions): Promise<LiveLog> {
  let tries = 0;
  let key: Secret | undefined;
  const over = async (open: () => Promise<Rows>) => {
    key = await saying(logKeyFile, () => openLogKey(logKeyFile, key));
    return { rows: await open(), gatewayKey: key };
  };
  if (redis !== undefined) {
    const open = () => over(() => openRedisRows({ url: redis.url.reveal() }));
    return openLog({ open, abilities: { survivesRestart: true, isShared: true }, home, clock, retention, events });
  }
  if (storeFile === undefined) return openMemoryLog({ clock, retention });
  const onSetAside = (copy: string) => events.emit("store_damaged", { copy });
  const open = () =>
    over(() => {
      const patience = tries++ === 0 ? {} : { openTimeoutMs: retryTimeoutMs };
      return saying(storeFile, () => openSqliteRows({ path: storeFile, onSetAside, ...patience }));
    });
  return openLog({ open, abilities: { survivesRestart: true, isShared: false }, clock, retention, events });
}

/** Opens a file. Its error says what keeps this user from the file: neither SQLite nor the log's key knows. */
async function saying<T>(file: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const barrier = isDegraded(error) ? barrierTo(file) : undefined;
    if (barrier === undefined) throw error;
    throw new MillraceError("degraded", `${file} cannot be ${barrier.cannot}: ${barrier.why}.`, {
      hint: barrier.hint,
      cause: error,
    });
  }
}

async function turnsIn(file: string): Promise<number> {
  const state = await inspectLogFile(file);
  return state.kind === "sound" ? state.turns : 0;
}
