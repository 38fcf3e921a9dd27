import { NotFoundError, RateLimitError } from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { proves } from "../../../test/support/proves.ts";
import { MillraceError } from "../../base/errors.ts";
import { finished, started, text } from "../turn-events.fake.ts";
import { ask, call, messages, tools, usage, withSdk } from "./messages.fake.ts";

describe("the real Anthropic SDK", () => {
  it("accumulates from the stream what it gets without streaming", async () => {
    proves("messages.tool-input", "messages.final-usage", "messages.no-forged-signature");
    const { client } = withSdk([
      started,
      { type: "thinking", delta: "hm" },
      text("Look"),
      text("ing 🌊"),
      call("c1", '{"city":"Graz"}', true),
      call("c2", "", true),
      usage,
      finished("Looking 🌊"),
    ]);
    const streamed = await client.messages.stream({ ...ask, tools }).finalMessage();
    const whole = await client.messages.create({ ...ask, tools, metadata: { user_id: "x" } });
    expect(streamed.content).toEqual(whole.content);
    expect(whole.content).toMatchObject([
      { type: "thinking", thinking: "hm", signature: "" },
      { type: "text", text: "Looking 🌊" },
      { type: "tool_use", id: "c1", name: "weather", input: { city: "Graz" } },
      { type: "tool_use", id: "c2", input: {} },
    ]);
    expect(streamed.stop_reason).toBe("tool_use");
    expect(whole.usage).toMatchObject(streamed.usage);
    expect(whole.usage).toMatchObject({ input_tokens: 200, cache_read_input_tokens: 1000, output_tokens: 7 });
  });

  it("counts tokens as the start of the answer does", async () => {
    proves("messages.count-tokens", "messages.start");
    const { client } = withSdk();
    const { input_tokens: counted } = await client.messages.countTokens({ model: "test-model", messages, tools });
    let start: number | undefined;
    for await (const event of client.messages.stream({ ...ask, tools })) {
      if (event.type === "message_start") start = event.message.usage.input_tokens;
    }
    expect(counted).toBeGreaterThan(0);
    expect(start).toBe(counted);
  });

  it.each([
    [finished("x", "length"), { stop_reason: "max_tokens", stop_sequence: null }],
    [finished("x", "content_filter"), { stop_reason: "refusal", stop_sequence: null }],
    [finished("x", "stop", "END"), { stop_reason: "stop_sequence", stop_sequence: "END" }],
    [finished("x", "stop", "END_TURN"), { stop_reason: "end_turn", stop_sequence: null }],
  ])("has the reason for its end (%#)", async (end, expected) => {
    proves("messages.stop-reason");
    const { client } = withSdk([started, text("x"), end]);
    expect(await client.messages.create({ ...ask, stop_sequences: ["END"] })).toMatchObject(expected);
  });

  it("throws typed errors, before and inside the stream", async () => {
    proves("messages.errors", "messages.stream-error");
    const { client, turns } = withSdk([
      started,
      text("Hal"),
      { type: "failed", error: { code: "rate_limited", message: "Too fast.", hint: "" } },
    ]);
    await expect(client.messages.create({ ...ask, model: "claude-9" })).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.messages.stream(ask).finalMessage()).rejects.toThrow(/Too fast/);
    turns.refuses = new MillraceError("rate_limited", "Too fast.", { retryAfterMs: 90_000 });
    const refused = client.messages.create({ ...ask, metadata: { user_id: "y" } });
    await expect(refused).rejects.toBeInstanceOf(RateLimitError);
    const error = await refused.catch((caught: unknown) => caught);
    expect(error).toMatchObject({ requestID: expect.stringMatching(/^req_/), headers: expect.anything() });
    expect((error as InstanceType<typeof RateLimitError>).headers.get("retry-after")).toBe("60");
  });

  it("lists models", async () => {
    const { client } = withSdk();
    const ids: string[] = [];
    for await (const model of client.models.list({ limit: 1 })) ids.push(model.id);
    expect(ids).toEqual(["anthropic/test-model", "claude-test:high"]);
    expect((await client.models.retrieve("anthropic/test-model")).display_name).toBe("TEST-MODEL");
  });
});
