import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Backend } from "../src/backends/backend.ts";
import { systemClock } from "../src/base/clock.ts";
import { startOfLog } from "../src/base/ids.ts";
import { openMemoryLog } from "../src/log/live.ts";
import { openFileLog, openSharedLog } from "../src/log/memory-log.fake.ts";
import { readAll } from "../src/log/read-all.ts";
import { eachOf, readTurn } from "../src/log/read-turn.ts";
import type { LogStore } from "../src/log/store.ts";
import { openTurns } from "../src/turns/open-turns.ts";
import { plainLayout } from "../src/turns/turns.fake.ts";
import { runAll } from "../test/model/report.ts";
import { quantile } from "./gateway/curve.ts";
import { startRedis } from "./log/redis.ts";
import { acksPerSecond } from "./streams/acks.ts";
import { appendAtOnce, appendOneByOne, begun, delta, finished, started, wholeTurns } from "./streams/appends.ts";
import { measureCuts, measureStreaming } from "./streams/cuts.ts";
import { measureTierCuts } from "./streams/tier-cuts.ts";

// The event log: what an append costs in each store, sealed and not, and what comes back after a restart. Ratios are against the memory
// log without sealing, in the same run.

const clock = systemClock;
const never = new AbortController().signal;

const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
let files = 0;

interface Store {
  readonly name: string;
  readonly open: () => Promise<LogStore>;
}

const freshFile = () => join(folder, `log-${++files}.db`);
const redis = await startRedis();
const stores: readonly Store[] = [
  { name: "memory", open: () => openMemoryLog({ clock }) },
  { name: "SQLite", open: () => openFileLog({ path: freshFile(), clock }) },
  ...(redis === undefined ? [] : [{ name: "Redis", open: () => openSharedLog({ url: redis.url, clock }) }]),
];

try {
  console.log(
    "events appended per second, one delta an append (one turn; 100 turns at once; start, 30 deltas and end)",
  );
  let baseline: number | undefined;
  for (const { name, open } of stores) {
    const store = await open();
    await appendOneByOne(store, 500); // warm
    const one = await appendOneByOne(store, 4_000);
    const many = await appendAtOnce(store, 100, 40);
    const whole = await wholeTurns(store, 60);
    baseline ??= one;
    const ratio = (baseline / one).toFixed(1);
    console.log(`  ${name.padEnd(18)} ${show(one)}/s (x${ratio} slower)   ${show(many)}/s   ${show(whole)}/s`);
    await store.close();
  }
  const file = freshFile();
  const store = await openFileLog({ path: file, clock });
  const events = await appendOneByOne(store, 4_000).then(() => 4_000);
  await store.close();
  console.log(
    `bytes per event: ${(statSync(file).size / events).toFixed(0)} in the file for a delta of ${delta.length}`,
  );
  await acknowledgements();
  await resumption();
  await followers(2_000);
  await recovery(1_000);
  await overHttp();
  searchModel();
} finally {
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Client messages made durable, beside the same in memory. */
async function acknowledgements(): Promise<void> {
  const memory = await openMemoryLog({ clock });
  const sqlite = await openFileLog({ path: freshFile(), clock });
  for (const [streams, each] of [
    [1, 300],
    [100, 20],
  ] as const) {
    const [off, on] = [await acksPerSecond(memory, streams, each), await acksPerSecond(sqlite, streams, each)];
    const how = streams === 1 ? "one stream, a flush for each" : `${streams} streams, flushes shared`;
    console.log(`acknowledged messages per second, ${how}: ${show(on)} (x${(off / on).toFixed(1)} slower than memory)`);
  }
  await memory.close();
  await sqlite.close();
}

/** What `npm test -- search model` searches. */
function searchModel(): void {
  const startedAt = performance.now();
  const { ours, publishedOnes, without } = runAll();
  const verdicts = [ours, ...publishedOnes.values(), ...without.values()];
  const states = verdicts.reduce((sum, { explored }) => sum + explored, 0);
  const ms = performance.now() - startedAt;
  console.log(
    `model: ${states.toLocaleString("en")} states in ${ms.toFixed(0)} ms, ${ours.explored.toLocaleString("en")} of them with every fix`,
  );
}

/** From asking again with a cursor to the first event that it lacks, in a turn of 5,000 events. */
async function resumption(): Promise<void> {
  const store = await openFileLog({ path: freshFile(), clock });
  const { turnId, writer } = await begun(store);
  const batch = Array.from({ length: 100 }, () => ({ type: "text", delta }) as const);
  for (let i = 0; i < 50; i++) await writer.append(batch, clock.now());
  const ids = (await readAll(store, turnId)).map(({ eventId }) => eventId);
  const tookMs: number[] = [];
  let resent = 0;
  for (let cut = 0; cut < 1_000; cut++) {
    const cursor = ids[(cut * 1_733) % (ids.length - 1)] ?? startOfLog; // all over the turn, in no order
    const startedAt = performance.now();
    for await (const event of eachOf(readTurn(store, { turnId, after: cursor }, never))) {
      tookMs.push(performance.now() - startedAt);
      if (event.eventId <= cursor) resent += 1;
      break;
    }
  }
  tookMs.sort((a, b) => a - b);
  const [p50, p99] = [tookMs[500] ?? 0, tookMs[990] ?? 0];
  console.log(
    `in the log, from a cut to the first new event of 5,000: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms; events re-sent: ${resent}`,
  );
  await store.close();
}

async function followers(count: number): Promise<void> {
  const store = await openFileLog({ path: freshFile(), clock });
  const { turnId, writer } = await begun(store);
  await writer.append([started()], clock.now());
  const leaving = new AbortController();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const reading = Array.from({ length: count }, async () => {
    for await (const _event of eachOf(readTurn(store, { turnId, after: startOfLog }, leaving.signal)));
  });
  await systemClock.sleep(500, never);
  collectGarbage();
  const each = (process.memoryUsage().heapUsed - before) / count / 1_024;
  console.log(`memory per idle follower: ${each.toFixed(1)} KiB of heap, ${count} followers`);
  leaving.abort();
  await Promise.allSettled(reading);
  await store.close();
}

/** Turns that a process left behind, until each has been adopted and finished by the next one. */
async function recovery(turns: number): Promise<void> {
  const open = () => openFileLog({ path: freshFile(), clock });
  const before = await open();
  for (let turn = 0; turn < turns; turn++) {
    const { writer } = await begun(before);
    await writer.append([started()], clock.now());
    await writer.append(
      Array.from({ length: 20 }, () => ({ type: "text", delta }) as const),
      clock.now(),
    );
  }
  await before.close();
  const startedAt = performance.now();
  const store = await open();
  const openedMs = performance.now() - startedAt;
  let resumed = 0;
  const backend: Backend = {
    kind: "cascade",
    run: () => {
      throw new Error("a turn that has started is resumed, never run");
    },
    async *resume() {
      resumed += 1;
      yield [{ type: "text", delta: delta.repeat(21) }, finished(delta.repeat(21))];
    },
    archive: async () => {},
  };
  const turnsAgain = openTurns({
    store,
    backends: { choose: async () => backend, holding: async () => backend },
    clock,
    graceMs: 60_000,
    implicitJoins: true,
    owner: "next",
    layout: plainLayout,
    countTokens: (text) => text.length,
  });
  while ((await turnsAgain.list({ open: true, limit: 1 })).length > 0) await systemClock.sleep(20, never);
  const tookMs = performance.now() - startedAt;
  console.log(
    `recovery of ${turns} open turns: ${tookMs.toFixed(0)} ms until all ${resumed} are finished (${openedMs.toFixed(0)} ms to open the log)`,
  );
  await turnsAgain.stop();
  await store.close();
}

/** Through real gateways and connections; beside the same with the log in memory only. */
async function overHttp(): Promise<void> {
  console.log(
    "over HTTP, from a cut to the first new event (100 cuts each), and bytes sent again for every byte needed",
  );
  const measure = async (store: "memory" | "sqlite") => [
    ...(await measureCuts(store, 100)),
    ...(await measureTierCuts(store, 100)),
  ];
  const off = await measure("memory");
  for (const [i, on] of (await measure("sqlite")).entries()) {
    const without = off[i];
    if (without === undefined) continue;
    const [p50, p99] = [quantile(on.firstNewMs, 0.5), quantile(on.firstNewMs, 0.99)];
    const ratio = p50 / quantile(without.firstNewMs, 0.5);
    const resent = ((100 * on.resentBytes) / on.usefulBytes).toFixed(2);
    console.log(
      `  ${on.surface.padEnd(22)} p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms of ${on.events} events (x${ratio.toFixed(2)} of the log in memory); re-sent ${resent} %`,
    );
  }
  const [memory, sqlite] = [await measureStreaming("memory", 20), await measureStreaming("sqlite", 20)];
  console.log(
    `20 answers at once: the gateway's CPU for an event ${sqlite.toFixed(0)} µs with the log on disk, ${memory.toFixed(0)} µs in memory (x${(sqlite / memory).toFixed(2)})`,
  );
}

/** An exact figure needs a heap without garbage; Node gives the collector to who asks for it by flag only. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

function show(perSecond: number): string {
  return Math.round(perSecond).toLocaleString("en").padStart(9);
}
