import { describe, expect, it } from "vitest";
import { proves } from "../../test/support/proves.ts";
import { FakeClock } from "../base/clock.fake.ts";
import { MillraceError } from "../base/errors.ts";
import { Secret } from "../base/secret.ts";
import { openMemoryLog } from "../log/memory-log.fake.ts";
import type { LogStore } from "../log/store.ts";
import { FakeModels } from "../models/models.fake.ts";
import { type FakeTurns, fakeTurns } from "../turns/turns.fake.ts";
import { fakeKey, noParts } from "./gateway.fake.ts";
import { inMemory } from "./http/in-memory.ts";
import { SseReader } from "./http/sse.fake.ts";
import { openGateway } from "./open-gateway.ts";

const messages = [{ role: "user", content: "Hello" }];

/** A gateway over the real turns, with a backend that the test writes. */
function over(store?: LogStore) {
  const real = fakeTurns(store === undefined ? {} : { store, owner: "owner-2" });
  const models = new FakeModels();
  const gateway = openGateway({
    turns: real.turns,
    models,
    clock: real.clock,
    log: { write() {} },
    keys: [{ name: "owner", key: new Secret(fakeKey) }],
    ...noParts,
    version: "0",
    instance: "i",
  });
  const ask = inMemory(gateway.handle);
  const request = (path: string, json?: unknown, more: Record<string, string> = {}) => {
    const headers = { host: "localhost", authorization: `Bearer ${fakeKey}`, ...more };
    const body = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) };
    return ask(new Request(`http://gateway${path}`, { headers, ...body }));
  };
  return { ...real, models, request };
}

/** The answer that the n-th turn's backend is to give, once it was asked. */
async function asked(real: FakeTurns, n = 0) {
  for (;;) {
    const answer = real.backend.answers[n];
    if (answer?.promptSent === true) return answer;
    await real.clock.advance(10);
  }
}

/** Waits for something that the clock has to move on for. */
async function meanwhile<T>(real: FakeTurns, work: Promise<T>): Promise<T> {
  const done = new AbortController();
  const watched = work.finally(() => done.abort());
  while (!done.signal.aborted) {
    await real.clock.advance(50);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return watched;
}

describe("the gateway over the real turns", () => {
  it("enforces stop across deltas, and sends nothing of it", async () => {
    proves("chat.stop");
    const real = over();
    const pending = real.request("/v1/chat/completions", {
      model: "test-model",
      stream: true,
      stop: "\n\nEND",
      messages,
    });
    const answer = await asked(real);
    answer.text("One", "\n", "\nE", "ND", "Two");
    const reader = new SseReader(await meanwhile(real, pending));
    const events = await meanwhile(real, reader.rest());
    expect(textOf(events)).toBe("One");
    expect(events.at(-1)?.data).toBe("[DONE]");
  });

  it("names the sequence that ended a message", async () => {
    proves("messages.stop-reason");
    const real = over();
    const body = { model: "test-model", max_tokens: 50, stop_sequences: ["END"], messages };
    const pending = real.request("/v1/messages", body);
    (await asked(real)).text("One END two");
    expect(await (await meanwhile(real, pending)).json()).toMatchObject({
      content: [{ text: "One " }],
      stop_reason: "stop_sequence",
      stop_sequence: "END",
    });
  });

  it("answers valid JSON for a response format, without the fence around it", async () => {
    proves("chat.response-format");
    const real = over();
    const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const response_format = { type: "json_schema", json_schema: { name: "n", schema } };
    const pending = real.request("/v1/chat/completions", { model: "test-model", response_format, messages });
    const answer = await asked(real);
    answer.text("```json\n", '{"n": 1}', "\n```");
    answer.finish('```json\n{"n": 1}\n```');
    const body = (await (await meanwhile(real, pending)).json()) as { choices: { message: { content: string } }[] };
    expect(JSON.parse(body.choices[0]?.message.content ?? "")).toEqual({ n: 1 });
  });

  it("shows a response again after a restart, continues it, and forgets it when told", async () => {
    const clock = new FakeClock();
    const store = openMemoryLog({ clock });
    const before = over(store);
    const pending = before.request("/v1/responses", {
      model: "test-model",
      instructions: "Be brief.",
      input: "Hi",
      metadata: { a: "b" },
    });
    const first = await asked(before);
    first.text("Hello.");
    first.finish("Hello.");
    const created = (await (await meanwhile(before, pending)).json()) as { id: string };
    await before.turns.stop();

    const after = over(store);
    expect(await (await after.request(`/v1/responses/${created.id}`)).json()).toEqual(created);
    const stream = new SseReader(await after.request(`/v1/responses/${created.id}?stream=true`));
    expect((await meanwhile(after, stream.rest())).at(-2)?.event).toBe("response.completed");
    const next = after.request("/v1/responses", {
      model: "test-model",
      previous_response_id: created.id,
      input: "And?",
    });
    const second = await asked(after);
    second.finish("");
    expect((await meanwhile(after, next)).status).toBe(200);
    const [latest] = await after.turns.list({ limit: 1 });
    const record = latest && (await after.turns.get(latest.turnId));
    expect(record?.request.messages.map((message) => message.role)).toEqual(["user", "assistant", "user"]);
  });

  it("joins the request that a client sends again before its broken line was noticed, and pays one prompt", async () => {
    const real = over();
    const body = { model: "test-model", stream: true, messages };
    const first = real.request("/v1/chat/completions", body);
    const answer = await asked(real);
    answer.text("Hel");
    const cut = new SseReader(await meanwhile(real, first));
    await cut.next();
    const repeated = real.request("/v1/chat/completions", body);
    await real.clock.advance(100);
    await cut.cancel();
    answer.text("lo");
    answer.finish("Hello");
    const again = await meanwhile(real, repeated);
    expect(again.headers.get("x-millrace-joined")).toBe("implicit");
    expect((await meanwhile(real, new SseReader(again).rest())).at(-1)?.data).toBe("[DONE]");
    expect(real.backend.answers).toHaveLength(1);
  });

  it.each([
    "in another order of its members",
    "after the thinking that it received whole",
    "after both items that it received whole",
  ])("joins the request of Codex %s, and pays one prompt", async (how) => {
    const real = over();
    const question = { type: "message", role: "user", content: [{ type: "input_text", text: "Hello" }] };
    const body = { model: "test-model", stream: true, store: false, metadata: { a: "1", b: "2" }, input: [question] };
    const first = real.request("/v1/responses", body);
    const answer = await asked(real);
    answer.emit({ type: "thinking", delta: "Hm." });
    answer.text("Hel");
    const cut = new SseReader(await meanwhile(real, first));
    const items: { readonly id: string }[] = [];
    while (items.length === 0) {
      const { type, item } = JSON.parse((await cut.next())?.data ?? "{}");
      if (type === "response.output_item.done") items.push(item);
    }
    await cut.cancel();
    const id = items[0]?.id.replace(/^rs_(.*)_0$/, "msg_$1_1");
    const text = { type: "message", role: "assistant", id, content: [] };
    const input = [question, ...(how.includes("members") ? [] : items), ...(how.includes("both") ? [text] : [])];
    const { metadata: _, ...rest } = body;
    const again = await meanwhile(
      real,
      real.request("/v1/responses", { metadata: { b: "2", a: "1" }, ...rest, input }),
    );
    expect(again.headers.get("x-millrace-joined")).toBe("implicit");
    answer.text("lo");
    answer.finish("Hello");
    const events = await meanwhile(real, new SseReader(again).rest());
    expect(JSON.parse(events.at(-2)?.data ?? "{}").response.output.at(-1).content[0].text).toBe("Hello");
    expect(real.backend.answers).toHaveLength(1);
  });

  it("gives an answer again, or the rest of it, although no IDE runs any more", async () => {
    const real = over();
    const body = { model: "test-model", messages };
    const keyed = { "idempotency-key": "once" };
    const first = real.request("/v1/chat/completions", body, keyed);
    const answer = await asked(real);
    answer.text("Hello");
    answer.finish("Hello");
    const told = await (await meanwhile(real, first)).json();
    const streamed = { ...body, stream: true };
    const broken = real.request("/v1/chat/completions", streamed);
    const second = await asked(real, 1);
    second.text("Hel");
    const cut = new SseReader(await meanwhile(real, broken));
    await cut.next();
    await cut.cancel();

    real.models.fails = new MillraceError("ide_not_running", "No IDE runs.");
    real.backend.missing = real.models.fails;
    const again = await meanwhile(real, real.request("/v1/chat/completions", body, keyed));
    expect([again.status, again.headers.get("x-millrace-joined")]).toEqual([200, "key"]);
    expect(again.headers.get("x-millrace-model")).toBe("uid-test-model");
    expect(await again.json()).toEqual(told);
    const resumed = await meanwhile(real, real.request("/v1/chat/completions", streamed));
    expect([resumed.status, resumed.headers.get("x-millrace-joined")]).toEqual([200, "implicit"]);
    second.text("lo");
    second.finish("Hello");
    expect((await meanwhile(real, new SseReader(resumed).rest())).at(-1)?.data).toBe("[DONE]");

    const other = await real.request("/v1/chat/completions", { ...body, messages: [...messages, ...messages] }, keyed);
    expect(other.status).toBe(422);
    const fresh = await real.request("/v1/chat/completions", body, { "idempotency-key": "twice" });
    expect(fresh.status).toBe(424);
    expect(real.backend.answers).toHaveLength(2);
  });
});

/** The text of a Chat Completions stream. */
function textOf(events: readonly { readonly data: string }[]): string {
  return events
    .map((event) => (event.data === "[DONE]" ? "" : (JSON.parse(event.data).choices[0].delta.content ?? "")))
    .join("");
}

describe("the tokens of a prompt", () => {
  it("are one number in the count, at a stream's start and end, and in a whole answer, where the server reports none", async () => {
    const body = { model: "test-model", max_tokens: 50, messages };
    const input = async (path: string, json: object) => {
      const real = over();
      const pending = real.request(path, json);
      const answer = await asked(real);
      answer.text("Hi");
      answer.emit({ type: "usage", promptTokens: 3, completionTokens: 1, thinkingTokens: 0, estimated: true });
      answer.finish("Hi");
      return meanwhile(real, pending);
    };
    const count = await (await over().request("/v1/messages/count_tokens", body)).json();
    const reader = new SseReader(await input("/v1/messages", { ...body, stream: true }));
    const events = (await reader.rest()).map(({ data }) => JSON.parse(data) as Record<string, never>);
    const whole = (await (await input("/v1/messages", body)).json()) as { usage: { input_tokens: number } };
    const chat = (await (await input("/v1/chat/completions", body)).json()) as { usage: { prompt_tokens: number } };
    const { input_tokens: tokens } = count as { readonly input_tokens: number };
    expect(events.at(0)).toMatchObject({ message: { usage: { input_tokens: tokens } } });
    expect(events.at(-2)).toMatchObject({ usage: { input_tokens: tokens } });
    expect([whole.usage.input_tokens, chat.usage.prompt_tokens]).toEqual([tokens, tokens]);
  });
});
