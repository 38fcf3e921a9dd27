import type { GatewayMeter } from "./http/options.ts";

/** A meter that has no readings and keeps nothing. Its time is 1 s where the caller waits for a reading, else 0. */
export const idleMeter: GatewayMeter = {
  limits: async ({ wait }) => ({ nowMs: wait ? 1000 : 0, readings: [], errors: [] }),
  elsewhere: () => Promise.resolve(undefined),
  usage: (query) => ({ query, rows: [], outside: [], names: new Map() }),
  turnBars: (filter, widthMs) => ({ filter, widthMs, bars: [], names: new Map() }),
  turnPage: (query) => ({ query, rows: [], totals: undefined, names: new Map() }),
  usageDays: (query) => ({ query, days: [], names: new Map() }),
  lastUses: () => new Map(),
  readings: () => [],
};
