import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../src/base/clock.ts";
import { openFileLog, openSharedLog } from "../src/log/memory-log.fake.ts";
import type { LogStore } from "../src/log/store.ts";
import { newTurn } from "../src/log/turn.fake.ts";
import { startRedis } from "./log/redis.ts";

/**
 * `npm run bench shared`: stores of one Redis server, as one to five gateways have them, beside one SQLite file: events appended
 * a second, how late a reader at another gateway has them, and both with more readers and more retained turns. Run it on a quiet machine: the
 * gateways are stores in this process, so their own work adds up in one thread.
 */
const clock = systemClock;
const never = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), "millrace-shared-bench-"));
const redis = await startRedis();
if (redis === undefined) throw new Error("redis-server is not installed");
const { url } = redis;
const delta = "A sentence of ordinary length.";

try {
  const sqlite = await openFileLog({ path: join(folder, "log.db"), clock });
  console.log(
    "turns at once: 20 a gateway; 40 events each; lag: from the append to a reader's read at the next gateway",
  );
  await show("SQLite, 1 gateway", [sqlite], 1);
  await sqlite.close();
  for (let count = 1; count <= 5; count++) await withGateways(count, (all) => show(`Redis, ${count} gateways`, all, 1));
  for (const readers of [10, 50])
    await withGateways(3, (all) => show(`Redis, 3 gateways, ${readers} readers a turn`, all, readers));
  await withGateways(3, async (all) => {
    const retained = 20_000;
    for (let i = 0; i < retained; i += 200) {
      const store = all[(i / 200) % 3];
      if (store === undefined) continue;
      await Promise.all(Array.from({ length: 200 }, () => store.create(newTurn({ createdAtMs: clock.now() }), "kept")));
    }
    await show(`Redis, 3 gateways, ${retained} retained turns`, all, 1);
  });
} finally {
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function withGateways(count: number, work: (all: readonly LogStore[]) => Promise<void>): Promise<void> {
  const open = () => openSharedLog({ url, clock });
  const all = await Promise.all(Array.from({ length: count }, open));
  await work(all);
  for (const store of all) await store.close();
}

async function show(what: string, all: readonly LogStore[], readers: number): Promise<void> {
  await run(all, 5, 20, 1); // warm
  const before = process.cpuUsage();
  const { perSecond, lagsMs } = await run(all, 20, 40, readers);
  const { user, system } = process.cpuUsage(before);
  const cpu = (user + system) / (all.length * 20 * 40);
  const at = (share: number) => (lagsMs[Math.floor(lagsMs.length * share)] ?? 0).toFixed(1);
  console.log(
    `  ${what.padEnd(42)} ${perSecond.toFixed(0).padStart(7)} events/s  lag p50 ${at(0.5)} p99 ${at(0.99)} ms  ${cpu.toFixed(0)} µs of CPU an event`,
  );
}

/** Every turn is written at one gateway and read at the next. */
async function run(all: readonly LogStore[], turns: number, events: number, readers: number) {
  const lagsMs: number[] = [];
  const startedAt = performance.now();
  const jobs = all.flatMap((store, nth) =>
    Array.from({ length: turns }, async () => {
      const { record, writer } = await store.create(newTurn({ createdAtMs: clock.now() }), `gateway-${nth}`);
      const writtenAt: number[] = [];
      const elsewhere = all[(nth + 1) % all.length] ?? store;
      const read = async () => {
        let cursor = record.lastEventId;
        for (let seen = 0; seen < events; ) {
          const page = await elsewhere.readAfter(record.turnId, cursor, { limit: 100, wait: never });
          for (const event of page.events) {
            lagsMs.push(performance.now() - (writtenAt[seen++] ?? performance.now()));
            cursor = event.eventId;
          }
        }
      };
      const reading = Promise.all(Array.from({ length: readers }, read));
      for (let i = 0; i < events; i++) {
        writtenAt.push(performance.now());
        await writer?.append([{ type: "text", delta }], clock.now());
      }
      await reading;
    }),
  );
  await Promise.all(jobs);
  const perSecond = (all.length * turns * events) / ((performance.now() - startedAt) / 1_000);
  return { perSecond, lagsMs: lagsMs.sort((a, b) => a - b) };
}
