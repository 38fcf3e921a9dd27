import { expect, test } from "vitest";
import { until } from "../../base/wait.fake.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { SettableClock } from "../../log/turn.fake.ts";
import { StreamEnd_Outcome } from "../../proto/aiserver/v1/chat_pb.ts";
import { detailsOf, type RawAttach, say } from "./raw-client.fake.ts";
import { attach, headersOf, newNames, type StreamWorld, streamWorld } from "./stream-world.fake.ts";

const keptMs = 7_200_000;
const tombstoneMs = 86_400_000;
const request = say.request("Hello", 0, { tools: ["look"] });
const call: readonly TurnEventBody[] = [
  { type: "tool_call", callId: "c1", name: "look", argumentsDelta: "{}", done: true },
  { type: "finished", reason: { unified: "tool_calls", raw: undefined }, text: "" },
];

/** One step of a stream; resolves once its client has seen it. */
type Play = (world: StreamWorld, client: RawAttach) => Promise<unknown>;

/** Until the model was asked for the n-th time. */
async function asked({ backend }: StreamWorld, times: number): Promise<void> {
  await until(() => backend.answers.length >= times);
}

const isCall = ({ chunks }: RawAttach) =>
  chunks.some(({ response }) => response.case === "clientSideToolV2Call") && chunks.length > 3;
const plays: readonly (readonly [string, Play])[] = [
  ["is welcomed", (_world, client) => client.until(({ welcome }) => welcome !== undefined)],
  [
    "has asked",
    async (world, client) => {
      client.send(request);
      await client.until(({ acks, chunks }) => acks.includes(0) && chunks.length === 1);
      await asked(world, 1);
    },
  ],
  [
    "has some text",
    (world, client) => {
      world.backend.last.text("Let me look. ");
      return client.until(({ text }) => text !== "");
    },
  ],
  [
    "has a call",
    (world, client) => {
      world.backend.last.emit(...call);
      world.backend.last.end();
      return client.until(isCall);
    },
  ],
  [
    "has given its result",
    async (world, client) => {
      client.send(say.result("c1", "seen", 1));
      await client.until(({ acks }) => acks.includes(1));
      await asked(world, 2);
    },
  ],
  [
    "has more text",
    (world, client) => {
      world.backend.last.text("There.");
      return client.until(({ text }) => text.endsWith("There."));
    },
  ],
  [
    "has all of it",
    (world, client) => {
      world.backend.last.finish("There.");
      return client.ended;
    },
  ],
];

const steps = plays.map(([name], at) => [name, at + 1] as const);
const times = [0, keptMs - 1_000, keptMs, keptMs + tombstoneMs - 1];

/** How often the model has been asked by then. */
const promptsAfter = (played: number) => (played >= 5 ? 2 : played >= 2 ? 1 : 0);

test.each(steps)(
  "a client that %s and comes back at any time continues, gets the whole answer, or gets `expired` (G6, G12)",
  async (_name, played) => {
    for (const laterMs of times) {
      const clock = new SettableClock(1_750_000_000_000);
      const world = await streamWorld({ clock });
      const names = newNames();
      const first = attach(world, "bidi", names);
      for (const [, play] of plays.slice(0, played)) await play(world, first);
      await first.cut();
      clock.move(laterMs);
      const cursor = first.chunks.at(-1)?.eventId ?? "0";
      const back = world.client.attach("bidi", headersOf(names, cursor, { "x-millrace-intent": "resume" }));
      await Promise.race([back.ended, back.until(({ welcome }) => welcome !== undefined)]);
      const isKept = laterMs < keptMs;
      expect(back.welcome !== undefined).toBe(isKept);
      const after = isKept ? await goneOn(world, first, back, played) : await expired(world, clock, names, back);
      expect(after).toEqual(isKept ? { text: "Let me look. There.", ends: 1, prompts: 2 } : promptsAfter(played));
    }
  },
);

/** Plays the rest for a client that came back: the messages that both of its attaches have read together. */
async function goneOn(world: StreamWorld, first: RawAttach, back: RawAttach, played: number) {
  // the messages played for the first one are there for this one as well, so only new ones are waited for
  for (const [, play] of plays.slice(played)) await play(world, joined(first, back));
  await back.ended;
  const ends = [...first.chunks, ...back.chunks].filter(({ streamEnd }) => streamEnd !== undefined);
  for (const { streamEnd } of ends) expect(streamEnd?.outcome).toBe(StreamEnd_Outcome.FINISHED);
  return { text: first.text + back.text, ends: ends.length, prompts: world.backend.answers.length };
}

/** The attach as a client sees it that remembers the events of an earlier attach. */
function joined(first: RawAttach, back: RawAttach): RawAttach {
  return new Proxy(back, {
    get(target, name) {
      if (name === "chunks") return [...first.chunks, ...target.chunks];
      if (name === "text") return first.text + target.text;
      if (name === "until")
        return (what: (attach: RawAttach) => boolean) => target.until(() => what(joined(first, back)));
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value as () => unknown).bind(target) : value;
    },
  });
}

/** The stream stays expired for every later request and on every clock; the model is not asked again. */
async function expired(
  world: StreamWorld,
  clock: SettableClock,
  names: ReturnType<typeof newNames>,
  back: RawAttach,
): Promise<number> {
  expect(detailsOf(await back.ended).info).toMatchObject({ reason: "expired" });
  for (const [moveMs, intent] of [
    [0, "create"],
    [-2 * keptMs, "create"],
    [0, "resume"],
    [keptMs, "create"],
  ] as const) {
    clock.move(moveMs);
    const again = world.client.attach("bidi", headersOf(names, "0", { "x-millrace-intent": intent })).send(request);
    expect(detailsOf(await again.ended).info).toMatchObject({ reason: "expired" });
  }
  return world.backend.answers.length;
}
