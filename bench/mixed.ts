import { parseArgs } from "node:util";
import { costOf } from "./gateway/process-cost.ts";
import { askChat, askMessages, askResponses } from "./load/ask.ts";
import { openWorld } from "./load/gateway.ts";

/**
 * An hour of mixed load (`--minutes` for less): all APIs, second readers, slow readers and clients that leave, `--streams` at once.
 * Shows each minute what the gateway costs, and its memory a minute after the load. `--json` prints one object at the end.
 */
const { values: options } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    streams: { type: "string", default: "16" },
    json: { type: "boolean", default: false },
  },
});
const minutes = Number(options.minutes);
const streams = Number(options.streams);

const world = await openWorld({ characters: 2_000, charactersPerSecond: 200, firstMs: 250 });
const gateway = await world.start();
const counts = { answers: 0, failures: 0, slowestHealthMs: 0 };
const load = new AbortController();
const shown: unknown[] = [];
try {
  const lanes = Array.from({ length: streams }, (_, lane) => run(lane));
  const health = watchHealth();
  for (let minute = 1; minute <= minutes; minute++) {
    const before = costOf(gateway.pid);
    await sleep(60_000);
    const after = costOf(gateway.pid);
    const cpu = ((after?.cpuMs ?? Number.NaN) - (before?.cpuMs ?? Number.NaN)) / 60_000;
    show(`minute ${minute}`, cpu);
    counts.slowestHealthMs = 0;
  }
  load.abort();
  await Promise.all([...lanes, health]);
  await sleep(60_000);
  show("a minute later", undefined);
  if (options.json) console.log(JSON.stringify({ bench: "mixed", minutes, streams, rows: shown }));
} finally {
  await gateway.stop();
  world.close();
}
if (counts.failures > 0) process.exitCode = 1;

async function run(lane: number): Promise<void> {
  for (let round = 0; !load.signal.aborted; round++) {
    try {
      await ask(lane, `Mixed, lane ${lane}, round ${round}.`);
      counts.answers++;
    } catch (error) {
      counts.failures++;
      console.error(String(error).slice(0, 300));
    }
  }
}

/** Each lane is one kind of client, so that every kind is there all the time. */
async function ask(lane: number, name: string): Promise<void> {
  const key = { headers: { "idempotency-key": name } };
  switch (lane % 6) {
    case 0:
      return askChat(gateway, name);
    case 1:
      return askResponses(gateway, name);
    case 2:
      return askMessages(gateway, name);
    case 3: {
      await Promise.all([askChat(gateway, name, key), askChat(gateway, name, key)]);
      return;
    }
    case 4:
      return askChat(gateway, name, { pauseMs: 4_000 }, 40);
    default:
      return askChat(gateway, name, { leaveMs: 2_000 });
  }
}

async function watchHealth(): Promise<void> {
  while (!load.signal.aborted) {
    const askedAt = performance.now();
    await (await fetch(`${gateway.url}/health`)).text();
    counts.slowestHealthMs = Math.max(counts.slowestHealthMs, performance.now() - askedAt);
    await sleep(1_000);
  }
}

function show(when: string, processors: number | undefined): void {
  const cost = costOf(gateway.pid);
  const [residentMiB, peakMiB] = [cost?.residentBytes, cost?.peakBytes].map((bytes = Number.NaN) => bytes / 2 ** 20);
  shown.push({ when, residentMiB, peakMiB, processors, ...counts });
  if (options.json) return;
  const busy = processors === undefined ? "" : `; ${(processors * 100).toFixed(0)} % of a processor`;
  console.log(
    `${when.padEnd(14)} ${residentMiB?.toFixed(0)} MiB resident, ${peakMiB?.toFixed(0)} at most; ${counts.answers} answers, ${counts.failures} failed; slowest /health ${counts.slowestHealthMs.toFixed(0)} ms${busy}`,
  );
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
