import { describe, expect, it } from "vitest";
import { proves } from "../../../test/support/proves.ts";
import { finished, started, text } from "../turn-events.fake.ts";
import { call, path, usage, withSdk } from "./responses.fake.ts";

describe("the real OpenAI SDK on responses", () => {
  it("accumulates from the stream what it gets without streaming", async () => {
    const { client } = withSdk([
      started,
      { type: "thinking", delta: "hm" },
      text("Hello"),
      text(" 🌊"),
      usage,
      finished("Hello 🌊"),
    ]);
    const stream = client.responses.stream({ model: "test-model", input: "Hi" });
    const streamed = await stream.finalResponse();
    const whole = await client.responses.create({ model: "test-model", input: "Hi", user: "x" });
    expect(streamed.output_text).toBe("Hello 🌊");
    expect(whole.output_text).toBe("Hello 🌊");
    expect(streamed.output.map((item) => item.type)).toEqual(["reasoning", "message"]);
    expect(streamed.output.map((item) => item.type)).toEqual(whole.output.map((item) => item.type));
    expect(streamed.usage).toEqual(whole.usage);
    expect(streamed.status).toBe("completed");
  });

  it("gets functions and custom tools apart, each call with its own ids", async () => {
    proves("responses.custom-tools", "responses.call-ids");
    const { client, turns } = withSdk([
      started,
      call("c1", "weather", ""),
      call("c2", "apply_patch", "*** Begin"),
      finished(""),
    ]);
    const tools = [
      { type: "function" as const, name: "weather", parameters: {}, strict: false },
      { type: "custom" as const, name: "apply_patch" },
    ];
    const { output } = await client.responses.stream({ model: "test-model", input: "Hi", tools }).finalResponse();
    expect(output).toMatchObject([
      { type: "function_call", call_id: "c1", name: "weather", arguments: "{}", status: "completed" },
      { type: "custom_tool_call", call_id: "c2", name: "apply_patch", input: "*** Begin" },
    ]);
    expect(new Set(output.map((item) => item.id)).size).toBe(2);
    expect(turns.started[0]?.request.tools.map((tool) => tool.kind)).toEqual(["function", "freeform"]);
  });

  it("continues from a stored response with nothing but a tool's output", async () => {
    proves("responses.previous");
    const { client, turns } = withSdk([
      started,
      text("Looking."),
      call("c1", "weather", '{"city":"Graz"}'),
      finished("Looking."),
    ]);
    const tools = [{ type: "function" as const, name: "weather", parameters: {}, strict: false }];
    const first = await client.responses.create({
      model: "test-model",
      instructions: "Be brief.",
      input: "Rain?",
      tools,
    });
    turns.script = () => [started, text("Yes."), finished("Yes.")];
    const output = [{ type: "function_call_output" as const, call_id: "c1", output: "rain" }];
    const second = await client.responses.create({
      model: "test-model",
      previous_response_id: first.id,
      input: output,
      tools,
    });
    expect(second.output_text).toBe("Yes.");
    expect(second.previous_response_id).toBe(first.id);
    expect(turns.started[1]?.request.messages).toEqual([
      { role: "user", parts: [{ type: "text", text: "Rain?" }] },
      {
        role: "assistant",
        parts: [{ type: "text", text: "Looking." }],
        toolCalls: [{ callId: "c1", name: "weather", arguments: '{"city":"Graz"}', kind: "function" }],
      },
      { role: "tool", callId: "c1", parts: [{ type: "text", text: "rain" }], isError: false },
    ]);
    const third = await client.responses.create({
      model: "test-model",
      previous_response_id: second.id,
      input: "And now?",
    });
    expect(third.output_text).toBe("Yes.");
    expect(turns.started[2]?.request.messages).toHaveLength(5);
    const { data } = await client.responses.inputItems.list(second.id);
    expect(data).toMatchObject([{ type: "function_call_output", call_id: "c1", output: "rain" }]);
  });

  it("gives the same background question twice two responses, and is one turn only where the first answer was lost", async () => {
    const fake = withSdk([started, text("Hal")]);
    const json = { model: "test-model", input: "Hi", background: true };
    const lost = await fake.request(path, { json });
    await lost.body?.cancel();
    const first = await fake.request(path, { json });
    expect(first.headers.get("x-millrace-joined")).toBe("implicit");
    const { id } = (await first.json()) as { id: string };
    expect(fake.turns.started).toHaveLength(1);
    const second = await fake.client.responses.create({ model: "test-model", input: "Hi", background: true });
    expect(second.id).not.toBe(id);
    expect(fake.turns.started).toHaveLength(2);
  });

  it("never repeats an answer that was retrieved whole", async () => {
    const fake = withSdk([started, text("one")]);
    const json = { model: "test-model", input: "Hi", stream: true };
    const stream = await fake.request(path, { json });
    const turnId = fake.turns.turnId(0);
    await stream.body?.cancel();
    const url = `${path}/${turnId.replace("turn_", "resp_")}`;
    expect(await (await fake.request(url)).json()).toMatchObject({ status: "in_progress" });
    expect(fake.turns.delivered(turnId)).toBe(false);
    fake.turns.emit(turnId, finished("one"));
    expect(await (await fake.request(url)).json()).toMatchObject({ status: "completed" });
    expect(fake.turns.delivered(turnId)).toBe(true);
    expect((await fake.request(path, { json })).headers.get("x-millrace-joined")).toBe("no");
  });

  it("retrieves, cancels and deletes", async () => {
    const { client, turns } = withSdk([started, text("Hal")]);
    const created = await client.responses.create({ model: "test-model", input: "Hi", background: true });
    expect(["queued", "in_progress"]).toContain(created.status);
    expect(turns.started[0]?.graceMs).toBe(Number.POSITIVE_INFINITY);
    const running = await client.responses.retrieve(created.id);
    expect(running).toMatchObject({ id: created.id, status: "in_progress", output_text: "Hal" });
    expect((await client.responses.cancel(created.id)).status).toBe("cancelled");
    expect((await client.responses.cancel(created.id)).status).toBe("cancelled");
    await client.responses.delete(created.id);
    await expect(client.responses.retrieve(created.id)).rejects.toMatchObject({ status: 404 });
  });

  it("follows a background response from any event, with an accumulator that starts there", async () => {
    const { client, turns } = withSdk([started, text("one "), text("two ")]);
    const created = await client.responses.create({ model: "test-model", input: "Hi", background: true });
    turns.emit(turns.turnId(0), { type: "thinking", delta: "hm" }, text("three"), usage, finished("one two three"));
    const whole = await client.responses.stream({ response_id: created.id }).finalResponse();
    expect(whole.output_text).toBe("one two three");
    const { headers } = await client.responses
      .retrieve(created.id, { stream: true, starting_after: 3 })
      .withResponse()
      .then(({ response }) => response);
    expect(headers.get("x-millrace-expires")).not.toBeNull();
    for (let after = 0; after < 22; after++) {
      const events = await client.responses.retrieve(created.id, { stream: true, starting_after: after });
      const numbers: number[] = [];
      for await (const event of events) numbers.push(event.sequence_number);
      expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, i) => after + 1 + i));
    }
  });

  it("takes heartbeats in the middle of an item", async () => {
    const fake = withSdk([started, text("one")]);
    const stream = fake.client.responses.stream({ model: "test-model", input: "Hi" });
    const beats: number[] = [];
    let last = -1;
    const beaten = new Promise<void>((resolve) => {
      stream.on("event", (event) => {
        if (event.type === "response.in_progress" && event.sequence_number > 1) resolve();
        if (event.sequence_number < last) beats.push(event.sequence_number);
        last = event.sequence_number;
      });
    });
    await new Promise<void>((resolve) => stream.on("response.output_text.delta", () => resolve()));
    await fake.clock.advance(9_500);
    fake.turns.alive(fake.turns.turnId(0));
    await fake.clock.advance(1_500);
    await beaten;
    fake.turns.emit(fake.turns.turnId(0), text(" two"), finished("one two"));
    expect((await stream.finalResponse()).output_text).toBe("one two");
    expect(beats).toEqual([]);
  });

  it("says incomplete for an answer that was cut, and throws what failed", async () => {
    const { client, turns } = withSdk([started, text("Once"), finished("Once", "length")]);
    const cut = await client.responses.create({ model: "test-model", input: "Hi" });
    expect(cut).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
    turns.script = () => [
      started,
      text("Hal"),
      { type: "failed", error: { code: "upstream_failed", message: "It broke.", hint: "" } },
    ];
    const events = await client.responses.create({ model: "test-model", input: "Hi", stream: true });
    const types: string[] = [];
    const read = async () => {
      for await (const event of events) types.push(event.type);
    };
    await expect(read()).rejects.toThrow("It broke.");
    expect(types.at(-1)).toBe("response.output_item.done");
  });
});

describe("a conversation that is made short", () => {
  it("comes back as the user's messages and notes, which the next request brings to the model", async () => {
    const { client, turns } = withSdk([started, text("It rains in Graz."), finished("It rains in Graz.")]);
    const input = [
      { role: "user" as const, content: "How is Graz?" },
      { role: "assistant" as const, content: "Wet." },
    ];
    const compacted = await client.responses.compact({ model: "test-model", input });
    const message = { type: "message", status: "completed", content: [{ type: "input_text", text: "How is Graz?" }] };
    expect(compacted.output).toMatchObject([{ ...message, id: expect.any(String) }, { type: "compaction" }]);
    expect(turns.started[0]?.request).toMatchObject({ tools: [], messages: [{}, {}, { role: "user" }] });
    const foreign = { type: "compaction" as const, encrypted_content: `gAAAAAB${"o9_x".repeat(40)}` };
    await client.responses.create({
      model: "test-model",
      input: [...compacted.output, foreign, { role: "user", content: "And now?" }] as never,
    });
    const texts = turns.started[1]?.request.messages.flatMap((m) =>
      m.parts.map((part) => part.type === "text" && part.text),
    );
    expect(texts).toEqual(["How is Graz?", expect.stringContaining("It rains in Graz."), "And now?"]);
  });

  it("is counted as generation counts it, also without a model's name", async () => {
    const { client } = withSdk();
    const { usage } = await client.responses.create({ model: "test-model", input: "Hello" });
    expect(usage?.input_tokens).toBe(30); // the server's own
    const { input_tokens: tokens } = await client.responses.inputTokens.count({ input: "Hello" });
    expect(tokens).toBeGreaterThan(0);
    expect((await client.responses.inputTokens.count({ model: "test-model", input: "Hello" })).input_tokens).toBe(
      tokens,
    );
  });
});
