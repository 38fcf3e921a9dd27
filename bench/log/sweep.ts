import { openFileLog } from "../../src/log/memory-log.fake.ts";
import type { LogWriter } from "../../src/log/store.ts";
import { newTurn, SettableClock } from "../../src/log/turn.fake.ts";
import { quantile } from "../gateway/curve.ts";

const writers = 16;
const eventsEach = 51;
const delta = "A sentence of ordinary length.";
const day = 24 * 3_600_000;

/** How running turns fare for a while. */
interface Running {
  readonly appendMs: { readonly p50: number; readonly p99: number };
  /** The most processor time between two turns of the event loop; what waits for the disk is not in it. */
  readonly longestBlockMs: number;
}

/** Turns write while the same file loses its expired turns, beside the same without. */
export async function measureSweep(path: string, turns: number) {
  const clock = new SettableClock(Date.now());
  const store = await openFileLog({ path, clock });
  const begin = async () => {
    const { writer } = await store.create(
      newTurn({ createdAtMs: clock.now(), idempotencyKey: crypto.randomUUID() }),
      "bench",
    );
    if (writer === undefined) throw new Error("the turn is there already");
    return writer;
  };
  const texts = Array.from({ length: eventsEach - 1 }, () => ({ type: "text" as const, delta }));
  for (let made = 0; made < turns; made += 100)
    await Promise.all(
      Array.from({ length: Math.min(100, turns - made) }, async () => {
        const finished = { type: "finished", reason: { unified: "stop", raw: undefined }, text: delta } as const;
        await (await begin()).append([...texts, finished], clock.now());
      }),
    );
  clock.move(2 * day);
  const running = await Promise.all(Array.from({ length: writers }, begin));
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const before = await whileWriting(running, () => pause(1_000));
  const meanwhile = await whileWriting(running, () => store.sweep(clock.now()));
  await store.close();
  return { turns, events: eventsEach, before, meanwhile };
}

async function whileWriting(running: readonly LogWriter[], work: () => Promise<unknown>): Promise<Running> {
  const over = new AbortController();
  const appendMs: number[] = [];
  const blocks = watchBlocks();
  const writing = running.map(async (writer) => {
    while (!over.signal.aborted) {
      const startedAt = performance.now();
      await writer.append([{ type: "text", delta }], Date.now());
      appendMs.push(performance.now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, 20)); // as often as a turn is polled
    }
  });
  await work();
  over.abort();
  await Promise.all(writing);
  return {
    appendMs: { p50: quantile(appendMs, 0.5), p99: quantile(appendMs, 0.99) },
    longestBlockMs: blocks(),
  };
}

/** Answers a function that stops, and says how much processor time the longest block took; ms. */
function watchBlocks(): () => number {
  let longest = 0;
  let before = process.cpuUsage();
  const look = () => {
    const { user, system } = process.cpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.cpuUsage();
  };
  const timer = setInterval(look, 1);
  return () => {
    clearInterval(timer);
    return longest;
  };
}
