import { openHistory } from "../usage/history/sqlite-history.ts";
import { reportsOf } from "../usage/reports.ts";
import type { GatewayMeter } from "./http/options.ts";

/** A meter that has no readings and keeps nothing. Its time is 1 s where the caller waits for a reading, else 0. */
export const idleMeter: GatewayMeter = {
  limits: async ({ wait }) => ({ nowMs: wait ? 1000 : 0, readings: [], errors: [] }),
  elsewhere: () => Promise.resolve(undefined),
  ask: reportsOf(openHistory({ file: ":memory:" })),
  lastUses: () => new Map(),
};
