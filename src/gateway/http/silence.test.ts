import { describe, expect, it } from "vitest";
import type { TurnEventBody } from "../../log/event.ts";
import { type FakeGateway, fakeGateway } from "../gateway.fake.ts";
import { SseReader } from "./sse.fake.ts";

const messages = [{ role: "user", content: "Hello" }];
const model = "test-model";
const begun: TurnEventBody = { type: "text", delta: "Well" };
const end: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "Well" };

/** Every API that streams an answer, with its no-op event and the end of its stream. */
const surfaces: readonly [name: string, path: string, body: object, beat: RegExp, last: RegExp][] = [
  ["openai-chat", "/v1/chat/completions", { messages }, /"delta":\{\}/, /\[DONE\]/],
  ["openai-responses", "/v1/responses", { input: "Hello" }, /response\.in_progress/, /response\.completed/],
  ["anthropic-messages", "/v1/messages", { messages, max_tokens: 9 }, /"ping"/, /message_stop/],
];

/** Reads the bytes that are there now, without waiting for more. */
class Listener {
  readonly heard: string[] = [];
  readonly done: Promise<void>;

  constructor(response: Response) {
    const reader = new SseReader(response);
    this.done = (async () => {
      for (let event = await reader.next(); event !== undefined; event = await reader.next()) {
        this.heard.push(`${event.event ?? ""} ${event.id ?? "no id"} ${event.data}`);
      }
    })();
  }

  take(): readonly string[] {
    return this.heard.splice(0);
  }
}

/** A chat that has begun, whose answer is heard from now on. */
async function listening(): Promise<{ readonly fake: FakeGateway; readonly listener: Listener }> {
  const fake = fakeGateway();
  fake.turns.script = () => [begun];
  const listener = new Listener(
    await fake.request("/v1/chat/completions", { json: { model, stream: true, messages } }),
  );
  await fake.clock.advance(0);
  listener.take();
  return { fake, listener };
}

/**
 * Advances the clock by that many seconds, in steps of half a second, with a sign of life of the model's server every
 * `answersEveryMs`. Returns the events heard in each 15 s.
 */
async function hear(fake: FakeGateway, listener: Listener, seconds: number, answersEveryMs: number) {
  const spans: (readonly string[])[] = [];
  for (let ms = 500; ms <= seconds * 1_000; ms += 500) {
    await fake.clock.advance(500);
    if (ms % answersEveryMs === 0) fake.turns.alive(fake.turns.turnId(0));
    if (ms % 15_000 === 0) spans.push(listener.take());
  }
  return spans;
}

const never = Number.POSITIVE_INFINITY;

describe("320 s without a word from the model", () => {
  it.each(surfaces)(
    "in %s: a no-op event in every 15 s while the IDE answers, none while it does not",
    async (...row) => {
      const [, path, body, beat, last] = row;
      const fake = fakeGateway();
      fake.turns.script = () => [begun];
      const response = await fake.request(path, {
        json: { model, stream: true, ...body },
        headers: { "last-event-id": "" },
      });
      const listener = new Listener(response);
      await fake.clock.advance(0);
      const standsAt = listener.take().at(-1)?.split(" ")[1];
      expect(standsAt).toMatch(/^turn_/);

      const alive = await hear(fake, listener, 330, 500);
      expect(alive).toHaveLength(22);
      for (const events of alive) {
        expect(events.length).toBeGreaterThan(0);
        for (const event of events) expect(event).toMatch(beat);
        for (const event of events) expect(event.split(" ")[1]).toBe(standsAt); // it moves no cursor
      }
      expect((await hear(fake, listener, 330, never)).flat()).toEqual([]);

      fake.turns.emit(fake.turns.turnId(0), end);
      await listener.done;
      expect(listener.take().join("\n")).toMatch(last);
    },
  );

  it.each([
    ["an answer just before its deadline to every poll", 10_500],
    ["an answer to every poll after 7 s", 7_500],
  ])("is never 15 s of silence with %s", async (_, everyMs) => {
    const { fake, listener } = await listening();
    fake.turns.alive(fake.turns.turnId(0));
    let heard = 0;
    let [quietMs, longestMs] = [0, 0];
    for (let ms = 500; ms <= 330_000; ms += 500) {
      await fake.clock.advance(500);
      if (ms % everyMs === 0) fake.turns.alive(fake.turns.turnId(0));
      const events = listener.take();
      heard += events.length;
      quietMs = events.length > 0 ? 0 : quietMs + 500;
      longestMs = Math.max(longestMs, quietMs);
    }
    expect(longestMs).toBeLessThan(15_000);
    expect(heard).toBeGreaterThanOrEqual(22);
  });

  it.each([
    ["at once", 0, 0],
    ["2 s after the last word", 2_000, 0],
    ["a moment before the beat", 9_500, 1],
  ])("of an IDE that hangs %s: a beat only where it answered in the last 7 s", async (_, aliveMs, beats) => {
    const { fake, listener } = await listening();
    for (let ms = 0; ms < aliveMs; ms += 500) {
      fake.turns.alive(fake.turns.turnId(0));
      await fake.clock.advance(500);
    }
    fake.turns.alive(fake.turns.turnId(0));
    expect((await hear(fake, listener, 330, never)).flat()).toHaveLength(beats);
    fake.turns.alive(fake.turns.turnId(0)); // it answers again: the beat that is due comes within the next look
    await fake.clock.advance(1_000);
    expect(listener.take()).toHaveLength(1);
  });

  it("in /v1/turns/{id}/events too", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [begun];
    await fake.request("/v1/responses", { json: { model, input: "Hello", background: true } });
    const turnId = fake.turns.turnId(0);
    const listener = new Listener(await fake.request(`/v1/turns/${turnId}/events`));
    await fake.clock.advance(0);
    listener.take();
    for (const events of await hear(fake, listener, 330, 500)) {
      expect(events.length).toBeGreaterThan(0);
      for (const event of events) expect(event).toBe("alive a1 {}");
    }
    fake.turns.emit(turnId, end);
    await listener.done;
    expect(listener.take().at(-1)).toContain('"finished"');
  });
});
