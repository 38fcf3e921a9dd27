import { expect, test } from "vitest";
import { systemClock } from "../base/clock.ts";
import { openLink } from "./link/gateway-link.ts";
import { openMemoryRecordStore } from "./records/memory-record-store.ts";
import { transportTo } from "./routes.fake.ts";
import type { StreamRequest } from "./stream/messages.ts";
import { resume, startReliableStream } from "./stream/open-stream.ts";
import type { ReliableStream } from "./stream/stream.ts";
import type { StreamEvent } from "./stream/stream-event.ts";
import type { StreamOptions } from "./stream/stream-options.ts";
import { calls, FakeStreamServer, type Script, says } from "./stream-server.fake.ts";
import { cutTier } from "./tiers/faulty-tier.fake.ts";
import { openBidiTier, openPollTier, openSseTier, type Tier } from "./tiers/tier.ts";

/** How many worlds are tried; thousands take a minute. */
const seeds = Number(process.env["MILLRACE_LOSSY_SEEDS"] ?? 80);
const request: StreamRequest = { model: "any", messages: [{ role: "user", text: "Hello?" }] };
const script: Script = [
  [says("Let me look. "), calls("call-1"), says("and "), calls("call-2"), says("wait. ")],
  [says("One more: "), calls("call-3")],
  [says("Done.")],
];
const everyTier = [openBidiTier, openSseTier, openPollTier];

/** mulberry32: 0 to 1. */
function generator(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * A connection that is lossy but fair: most attaches break after a few messages in either direction, many before anything has
 * come; and whoever reads leaves now and then, to go on later from the record. Answers how many messages went up again.
 */
async function live(seed: number): Promise<{ readonly attaches: number; readonly mostUpAtOnce: number }> {
  const random = generator(seed);
  const server = new FakeStreamServer(script);
  const transport = transportTo(server);
  const lossRate = 0.3 + random() * 0.6;
  let attaches = 0;
  let mostUpAtOnce = 0;
  const counting = (tier: Tier): Tier => ({
    name: tier.name,
    async *attach(attach, signal) {
      attaches++;
      let up = 0;
      async function* outgoing(until: AbortSignal) {
        for await (const message of attach.outgoing(until)) {
          mostUpAtOnce = Math.max(mostUpAtOnce, ++up);
          yield message;
        }
      }
      yield* tier.attach({ ...attach, outgoing }, signal);
    },
  });
  const cut = () => {
    if (random() >= lossRate) return undefined;
    return random() < 0.5 ? { down: Math.floor(random() * 5) } : { up: Math.floor(random() * 3) };
  };
  const open = everyTier.filter(() => random() < 0.6);
  const options: StreamOptions = {
    backoff: { baseMs: 0, capMs: 0, budget: 1_000 },
    clock: systemClock,
    random,
    store: openMemoryRecordStore(),
    gateway: openLink(
      (open.length === 0 ? everyTier : open).map((openTier) => cutTier(counting(openTier(transport)), cut)),
    ),
  };
  const kept = new Map<string, StreamEvent>();
  const effects: string[] = [];
  const read = async (stream: ReliableStream): Promise<"ended" | "left"> => {
    for await (const event of stream.events) {
      kept.set(event.eventId, event);
      if (event.type === "tool_call")
        await stream.runTool(event, () => {
          effects.push(event.callId);
          return Promise.resolve({ text: `result of ${event.callId}` });
        });
      if (event.type === "end") return "ended";
      if (random() < 0.1) return "left";
    }
    return "ended";
  };
  const never = new AbortController().signal;
  const first = await startReliableStream(request, options, never);
  let became = await read(first);
  while (became === "left") {
    const after = [...kept.keys()].at(-1) ?? "0";
    became = await read(await resume(first.streamKey, { ...options, after }, never));
  }
  expect([...kept.keys()]).toEqual(server.only.chunks.map(({ eventId }) => eventId));
  expect(effects).toEqual(["call-1", "call-2", "call-3"]);
  expect([server.prompts, server.only.accepted.length]).toEqual([1, 4]);
  return { attaches, mostUpAtOnce };
}

test("a stream over any lossy but fair connection ends, complete, and resends only what is not acknowledged (G16)", {
  timeout: 600_000,
}, async () => {
  let attaches = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const lived = await live(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error });
    });
    attaches += lived.attaches;
    expect(lived.mostUpAtOnce).toBeLessThanOrEqual(4); // all that this stream ever says: the window
  }
  expect(attaches / seeds).toBeGreaterThan(3);
});
