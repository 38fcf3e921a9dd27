import Anthropic, { NotFoundError as AnthropicNotFoundError } from "@anthropic-ai/sdk";
import { NotFoundError } from "openai";
import { expect, it } from "vitest";
import { fakeGateway, fakeKey } from "../gateway.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";
import { usage, withSdk } from "./responses.fake.ts";

const answer = [started, { type: "thinking", delta: "hm" } as const, text("Hel"), text("lo"), usage, finished("Hello")];
const asked = { model: "test-model", prompt: "Say hello" };

it("a completion is the same text streamed and whole, with its usage, and `echo` puts the prompt before it", async () => {
  const { client, turns } = withSdk(answer);
  for (const echo of [false, true]) {
    const whole = await client.completions.create({ ...asked, echo });
    const expected = echo ? "Say helloHello" : "Hello";
    expect(whole).toMatchObject({
      id: expect.stringMatching(/^cmpl-/),
      object: "text_completion",
      choices: [{ index: 0, text: expected, logprobs: null, finish_reason: "stop" }],
      usage: { prompt_tokens: 30, completion_tokens: 7, total_tokens: 37 },
    });
    const chunks = [];
    const stream_options = { include_usage: true };
    const stream = await client.completions.create({ ...asked, echo, stream: true, stream_options, user: "x" });
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.flatMap(({ choices }) => choices.map((choice) => choice.text)).join("")).toBe(expected);
    expect(chunks.filter(({ choices }) => choices[0]?.finish_reason)).toHaveLength(1);
    expect(chunks.at(-1)).toMatchObject({ object: "text_completion", choices: [], usage: { total_tokens: 37 } });
  }
  expect(turns.started[0]?.request.messages).toEqual([{ role: "user", parts: [{ type: "text", text: "Say hello" }] }]);
});

it("a completion takes stop, a limit, a list of one prompt, and the members that old tools send with no wish", async () => {
  const { client, turns } = withSdk(answer);
  const nothing = { suffix: "", n: 1, best_of: 1, logprobs: null, logit_bias: {}, temperature: 0.2, top_p: 1 };
  await client.completions.create({ ...asked, ...nothing, prompt: ["Say"], stop: ["\n"], max_tokens: 64 });
  expect(turns.started[0]?.request).toMatchObject({ stop: ["\n"], maxOutputTokens: 64 });
  const none = await client.completions.create({ ...asked, echo: true, max_tokens: 0 });
  expect(none.choices).toMatchObject([{ text: "Say hello", finish_reason: "length" }]);
  expect(turns.started).toHaveLength(1);
});

it.each([
  ["suffix", { suffix: "}" }],
  ["n", { n: 2 }],
  ["best_of", { best_of: 3 }],
  ["logprobs", { logprobs: 0 }],
  ["prompt", { prompt: ["a", "b"] }],
  ["prompt", { prompt: [1, 2] }],
  ["prompt", { prompt: "" }],
  ["prompt", { prompt: null }],
] as const)("a completion refuses %s by name: %j", async (param, more) => {
  const { client, turns } = withSdk(answer);
  const refused = client.completions.create({ ...asked, ...(more as object) });
  await expect(refused).rejects.toMatchObject({ status: 400, param });
  expect(turns.started).toEqual([]);
});

it.each([
  ["GET", "/v1/chat/completions/chatcmpl-1", "/v1/responses"],
  ["POST", "/v1/conversations", "previous_response_id"],
  ["POST", "/v1/conversations/conv_1/items", "previous_response_id"],
  ["POST", "/v1/threads/runs", "previous_response_id"],
  ["POST", "/v1/files", "data URL"],
  ["POST", "/v1/uploads", "data URL"],
  ["POST", "/v1/batches", "one by one"],
  ["POST", "/v1/messages/batches", "one by one"],
  ["POST", "/v1/complete", "/v1/messages"],
  ["POST", "/v1/skills", "/v1/responses"],
  ["POST", "/v1/live/sessions", "/v1/responses"],
  ["GET", "/v1/organization/costs", "/v1/responses"],
  ["POST", "/v1/decisions", "/v1/responses"],
  ["GET", "/v1/memory_stores", "/v1/responses"],
  ["POST", "/api/web_search", "tool"],
  ["POST", "/api/embed", "another server"],
])("%s %s, which an SDK can call, is a 404 that names what to use", async (method, path, instead) => {
  const { request } = fakeGateway();
  const response = await request(path, { method, ...(method === "POST" ? { json: {} } : {}) });
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([404, "false"]);
  const { error } = (await response.json()) as { error: { message: string } | string };
  expect(typeof error === "string" ? error : error.message).toContain(instead);
});

it("the SDKs raise their own class for what is not served, in their API's form", async () => {
  const { client, fetch } = withSdk();
  await expect(client.conversations.create()).rejects.toBeInstanceOf(NotFoundError);
  const anthropic = new Anthropic({ baseURL: "http://gateway", apiKey: fakeKey, maxRetries: 0, fetch });
  for (const call of [anthropic.beta.files.list(), anthropic.messages.batches.list(), anthropic.beta.skills.list()]) {
    const error: unknown = await call.then(
      () => undefined,
      (refused: unknown) => refused,
    );
    expect(error).toBeInstanceOf(AnthropicNotFoundError);
    expect(error).toMatchObject({ error: { type: "error", error: { type: "not_found_error" } } });
  }
});
