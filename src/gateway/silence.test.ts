import { describe, expect, it } from "vitest";
import type { TurnEventBody } from "../log/event.ts";
import { type FakeGateway, fakeGateway } from "./gateway.fake.ts";
import { SseReader } from "./sse.fake.ts";

const messages = [{ role: "user", content: "Hello" }];
const model = "test-model";
const begun: TurnEventBody = { type: "text", delta: "Well" };
const end: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "Well" };

/** Every way to be streamed an answer; what its no-op event is like, and how its stream ends. */
const surfaces: readonly [name: string, path: string, body: object, beat: RegExp, last: RegExp][] = [
  ["openai-chat", "/v1/chat/completions", { messages }, /"delta":\{\}/, /\[DONE\]/],
  ["openai-completions", "/v1/completions", { prompt: "Hello" }, /"text":""/, /\[DONE\]/],
  ["openai-responses", "/v1/responses", { input: "Hello" }, /response\.in_progress/, /response\.completed/],
  ["anthropic-messages", "/v1/messages", { messages, max_tokens: 9 }, /"ping"/, /message_stop/],
];

/** Reads what is there now, without waiting for more. */
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

/** A second at a time, for as long; what was heard in each of the 15 s of it. */
async function hear(fake: FakeGateway, listener: Listener, seconds: number, alive: boolean) {
  const spans: (readonly string[])[] = [];
  for (let second = 1; second <= seconds; second++) {
    if (alive) fake.turns.alive(fake.turns.turnId(0));
    await fake.clock.advance(1_000);
    if (second % 15 === 0) spans.push(listener.take());
  }
  return spans;
}

describe("320 s without a word from the model", () => {
  it.each(surfaces)(
    "in %s: a no-op event in every 15 s while the IDE answers, none while it does not",
    async (...row) => {
      const [, path, body, beat, last] = row;
      const fake = fakeGateway();
      fake.turns.script = () => [begun];
      const response = await fake.request(path, { json: { model, stream: true, ...body } });
      const listener = new Listener(response);
      await fake.clock.advance(0);
      listener.take();

      const alive = await hear(fake, listener, 330, true);
      expect(alive).toHaveLength(22);
      for (const events of alive) {
        expect(events.length).toBeGreaterThan(0);
        for (const event of events) expect(event).toMatch(beat);
        for (const event of events) expect(event).toContain(" no id "); // it moves no cursor
      }
      const [soon, , ...later] = await hear(fake, listener, 330, false);
      expect(soon).toBeDefined();
      expect(later.slice(1).flat()).toEqual([]);

      fake.turns.emit(fake.turns.turnId(0), end);
      await listener.done;
      expect(listener.take().join("\n")).toMatch(last);
    },
  );

  it("in /v1/turns/{id}/events too", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [begun];
    await fake.request("/v1/responses", { json: { model, input: "Hello", background: true } });
    const turnId = fake.turns.turnId(0);
    const listener = new Listener(await fake.request(`/v1/turns/${turnId}/events`));
    await fake.clock.advance(0);
    listener.take();
    for (const events of await hear(fake, listener, 330, true)) {
      expect(events.length).toBeGreaterThan(0);
      for (const event of events) expect(event).toBe("alive no id {}");
    }
    fake.turns.emit(turnId, end);
    await listener.done;
    expect(listener.take().at(-1)).toContain('"finished"');
  });
});
