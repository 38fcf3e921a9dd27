import { asked } from "./process.ts";
import type { ReadOrder, ReadReport } from "./sse-reader.ts";

export interface WatchedReport extends ReadReport {
  /** The slowest `/health` while they ran; ms. */
  readonly slowestHealthMs: number;
}

/**
 * Reads answers in a process of its own, and asks for `/health` meanwhile from this one: a reader of many streams is busy itself, and
 * would add what it takes.
 */
export async function readWatched(order: ReadOrder): Promise<WatchedReport> {
  let over = false;
  const health = watchHealth(order.url, () => over);
  try {
    const report = await asked<ReadReport>("sse-reader.ts", order);
    over = true;
    return { ...report, slowestHealthMs: await health };
  } finally {
    over = true;
  }
}

async function watchHealth(url: string, until: () => boolean): Promise<number> {
  let slowestMs = 0;
  while (!until()) {
    const askedAt = performance.now();
    await (await fetch(`${url}/health`)).text();
    slowestMs = Math.max(slowestMs, performance.now() - askedAt);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return slowestMs;
}
