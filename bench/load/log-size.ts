import { askChat } from "./ask.ts";
import { type Spread, spread } from "./figures.ts";
import { fillLog } from "./fill-log.ts";
import { openWorld } from "./gateway.ts";
import { costOf } from "./process-cost.ts";
import { quantile } from "./quantile.ts";

const returns = 40;
const answers = 5;

export interface LogSizeRow {
  readonly turns: number;
  /** From a repeated request to the first event of its turn. */
  readonly firstMs: { readonly p50: number; readonly p95: number };
  /** Of one new answer. */
  readonly cpuMs: Spread;
}

/** What a reader that returns waits for, and what an answer costs, over logs of so many turns. */
export async function measureLogSize(sizes: readonly number[]): Promise<readonly LogSizeRow[]> {
  const rows: LogSizeRow[] = [];
  let held = 0;
  const world = await openWorld({ characters: 1_000, charactersPerSecond: 2_000, firstMs: 50 });
  const key = { headers: { "idempotency-key": "the turn that is read again" } };
  try {
    for (const turns of sizes) {
      if (rows.length > 0) await fillLog(world.storeFile, { turns: turns - held, historyBytes: 100, events: 20 });
      held = turns;
      const gateway = await world.start();
      try {
        // The first time it makes the turn that is copied; the others warm the process up.
        for (let i = 0; i < 10; i++) await askChat(gateway, "Read again.", key);
        const firstMs: number[] = [];
        for (let i = 0; i < returns; i++) {
          const askedAt = performance.now();
          const onFirst = () => firstMs.push(performance.now() - askedAt);
          await askChat(gateway, "Read again.", { ...key, onFirst });
        }
        const cpuMs: number[] = [];
        for (let i = 0; i < answers; i++) {
          const before = costOf(gateway.pid)?.cpuMs ?? Number.NaN;
          await askChat(gateway, `New, ${turns} turns, ${i}.`);
          cpuMs.push((costOf(gateway.pid)?.cpuMs ?? Number.NaN) - before);
        }
        const lag = { p50: quantile(firstMs, 0.5), p95: quantile(firstMs, 0.95) };
        rows.push({ turns, firstMs: lag, cpuMs: spread(cpuMs) });
      } finally {
        await gateway.stop();
      }
    }
    return rows;
  } finally {
    world.close();
  }
}
