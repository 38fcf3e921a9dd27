import { Ollama } from "ollama";
import { describe, expect, it } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { fakeGateway, fakeKey } from "../gateway.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";
import { call, usage } from "./responses.fake.ts";

const model = "test-model";
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const tools = [
  { type: "function", function: { name: "weather", description: "", parameters: { type: "object", properties: {} } } },
];

function withSdk(answer: readonly TurnEventBody[] = [started, text("Hi"), usage, finished("Hi")]) {
  const fake = fakeGateway();
  fake.turns.script = () => answer;
  const headers = { authorization: `Bearer ${fakeKey}` };
  return { ...fake, client: new Ollama({ host: "http://gateway", headers, fetch: fake.fetch }) };
}

describe("Ollama's client", () => {
  it("chats, streamed and whole, with the same text and counts", async () => {
    const { client } = withSdk();
    const messages = [{ role: "user", content: "Hello" }];
    let streamed = "";
    let last: unknown;
    for await (const part of await client.chat({ model, messages, stream: true })) {
      streamed += part.message.content;
      last = part;
    }
    expect(last).toMatchObject({ done: true, done_reason: "stop", prompt_eval_count: 30, eval_count: 7 });
    const whole = await client.chat({ model, messages });
    expect([streamed, whole.message.content, whole.eval_count]).toEqual(["Hi", "Hi", 7]);
    expect((await client.generate({ model, prompt: "Hello" })).response).toBe("Hi");
  });

  it("calls tools, and brings their results by name where the history has no ids", async () => {
    const { client, turns } = withSdk([started, call("c1", "weather", '{"city":"Graz"}'), usage, finished("")]);
    const asked = { role: "user", content: "How is it?", images: [picture] };
    const { message } = await client.chat({ model, messages: [asked], tools });
    expect(message.tool_calls).toMatchObject([{ function: { name: "weather", arguments: { city: "Graz" } } }]);
    const bare = { role: "assistant", content: "", tool_calls: [{ function: { name: "weather", arguments: {} } }] };
    const result = { role: "tool", content: "Rain", tool_name: "weather" };
    await client.chat({ model, messages: [asked, bare, result], tools });
    expect(turns.started[0]?.request.messages[0]).toMatchObject({
      parts: [{ type: "text" }, { mimeType: "image/png" }],
    });
    const [, said, told] = turns.started[1]?.request.messages ?? [];
    expect(said).toMatchObject({ toolCalls: [{ callId: "call_0", name: "weather" }] });
    expect(told).toMatchObject({ role: "tool", callId: "call_0", name: "weather" });
  });

  it("reads an error as a text, before the answer and in its middle", async () => {
    const { client, turns } = withSdk();
    await expect(client.chat({ model: "nobody", messages: [{ role: "user", content: "x" }] })).rejects.toThrow(
      /nobody/,
    );
    const error = new MillraceError("upstream_failed", "It broke.").toRecord();
    turns.script = () => [started, text("Ha"), { type: "failed", error }];
    const reading = async () => {
      for await (const _ of await client.chat({ model, messages: [{ role: "user", content: "x" }], stream: true }));
    };
    await expect(reading()).rejects.toThrow(/^It broke\./);
    await expect(client.embed({ model, input: "x" })).rejects.toThrow(/^Embeddings are not served/);
  });

  it("lists and shows the models, and loads one ahead without a prompt", async () => {
    const { client, turns } = withSdk();
    expect((await client.list()).models.map(({ name }) => name)).toEqual([model, "claude-test:high"]);
    expect(await client.show({ model: `${model}:latest` })).toMatchObject({
      capabilities: expect.arrayContaining(["tools"]),
    });
    expect(await client.generate({ model, prompt: "" })).toMatchObject({ done: true, done_reason: "load" });
    expect((await client.chat({ model, messages: [] })).done_reason).toBe("load");
    expect(turns.started).toEqual([]);
  });
});
