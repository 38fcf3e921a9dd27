import { describe, expect, it } from "vitest";
import { finished, started, text } from "../turn-events.fake.ts";
import { withSdk } from "./messages.fake.ts";

describe("legacy completions", () => {
  it("ask the prompt as a user's message, and answer its text", async () => {
    const fake = withSdk([started, { type: "thinking", delta: "hm" }, text("Hi"), finished("Hi")]);
    const response = await fake.request("/v1/completions", {
      json: { model: "test-model", prompt: ["Say hi"], max_tokens: 5, stop: "\n" },
    });
    expect(await response.json()).toMatchObject({
      object: "text_completion",
      choices: [{ text: "Hi", finish_reason: "stop" }],
    });
    expect(fake.turns.started[0]?.request).toMatchObject({
      maxOutputTokens: 5,
      stop: ["\n"],
      messages: [{ role: "user" }],
    });
  });

  it.each([
    ["prompt", { prompt: ["a", "b"] }],
    ["prompt", { prompt: [1, 2, 3] }],
    ["prompt", {}],
    ["n", { prompt: "x", n: 2 }],
    ["best_of", { prompt: "x", best_of: 3 }],
    ["echo", { prompt: "x", echo: true }],
    ["suffix", { prompt: "x", suffix: "y" }],
    ["logprobs", { prompt: "x", logprobs: 1 }],
  ])("refuse %s by name", async (param, body) => {
    const response = await withSdk().request("/v1/completions", { json: { model: "test-model", ...body } });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param } });
  });
});
