import { randomBytes } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import type { Secret } from "../base/secret.ts";
import { refuseOtherKey } from "./homes.ts";
import type { LiveTurns } from "./live-turns.ts";
import { Medium } from "./medium.ts";
import type { Rows } from "./rows.ts";
import { encodeKey, keyBytes } from "./sealing/keys.ts";
import { openSqliteRows } from "./sqlite.ts";
import type { Retention } from "./store.ts";
import { Streams } from "./streams.ts";
import { TurnLog } from "./turn-log.ts";
import { TurnRows } from "./turn-rows.ts";

/** One medium with what works on it. */
export interface Store {
  readonly medium: Medium;
  readonly records: TurnRows;
  readonly turns: TurnLog;
  readonly streams: Streams;
}

/** Sealed as a file is, under a key that is not stored, so that only the client can read its turns here too. */
export async function openMemory() {
  return { rows: await openSqliteRows({ path: ":memory:" }), gatewayKey: encodeKey(randomBytes(keyBytes)) };
}

/** Throws where the rows are sealed with another key. `turns`: those in memory, whose facts are newer than their rows. */
export async function storeOver(
  opened: { readonly rows: Rows; readonly gatewayKey: Secret },
  { clock, retention, turns }: { readonly clock: Clock; readonly retention: Retention; readonly turns: LiveTurns },
): Promise<Store> {
  const medium = new Medium(opened, { clock, retention });
  await refuseOtherKey(medium.rows, medium.sealer.digest("check"));
  const records = new TurnRows(medium, (turnId) => turns.get(turnId)?.facts);
  return { medium, records, turns: new TurnLog(medium, records), streams: new Streams(medium) };
}
