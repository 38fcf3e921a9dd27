import { describe, expect, test } from "vitest";
import { type ErrorCode, type ErrorRecord, lostPrompt, MillraceError, unusableAnswer } from "../../base/errors.ts";
import { encodeAnthropicError } from "./anthropic-messages/errors.ts";
import { clientName, forClient, streamErrorForClient } from "./by-client.ts";
import type { Dialect } from "./dialect.ts";
import { sizedError } from "./errors.ts";
import { encodeOllamaError } from "./ollama/encode.ts";
import { encodeStreamError } from "./openai-chat/encode.ts";
import { encodeOpenAiError } from "./openai-errors.ts";

const quota = new MillraceError("quota_exhausted", "No more.", { repeated: true }).toRecord();
const broken = new MillraceError("internal", "It broke.", { repeated: true }).toRecord();
const noIde = new MillraceError("ide_not_running", "No IDE.").toRecord();
const first = new MillraceError("upstream_failed", "It broke.").toRecord();
const unusable = new MillraceError("upstream_failed", "Twice.", { details: { reason: unusableAnswer } }).toRecord();
const langChain = "langchainjs-openai/1.0.0 ((node/v24.21.0; linux; x64))";
const chatAnthropic = clientName(
  new Headers({ "user-agent": "Anthropic/JS 0.122.0", "anthropic-dangerous-direct-browser-access": "true" }),
);
const codex = "codex_exec/0.169.0 (Linux; x86_64)";

describe.each([
  ["OpenAI", encodeOpenAiError],
  ["Anthropic", encodeAnthropicError],
] as const)("a final failure of the %s APIs", (_, encodeError) => {
  const statusFor = (error: typeof quota, userAgent: string | null) =>
    forClient(encodeError(error, "req-1"), error, userAgent).status;

  test.each([
    null,
    "OpenAI/JS 7.57.0",
    "opencode/1.18.33",
    "ai-sdk/openai-compatible/3.0.37",
    "claude-cli/2.1.330 (external, cli)",
    "Anthropic/JS 1.12.0",
    "my-codex/1",
  ])("has a status that the client %s does not repeat", (userAgent) => {
    expect(statusFor(quota, userAgent)).toBe(402);
    expect(statusFor(broken, userAgent)).toBe(400);
    expect(statusFor(noIde, userAgent)).toBe(424);
  });

  test.each([codex, langChain, chatAnthropic])("is a 400 for %s, which repeats every other 4xx", (userAgent) => {
    for (const error of [quota, broken, noIde, unusable]) expect(statusFor(error, userAgent)).toBe(400);
  });

  test.each([
    [codex, 400, 400],
    [langChain, 400, 400],
    [chatAnthropic, 400, 400],
    ["Anthropic/JS 1.12.0", 429, 429],
    ["opencode/1.18.33 ai-sdk/provider-utils/4.0.23", 402, 400],
    ["Kilo-Code/7.7.7 ai-sdk/provider-utils/4.0.27 runtime/bun/1.3.14", 402, 400],
    ["QwenCode/0.24.4 (linux; x64)", 402, 400],
    ["pi (linux 6.18; x64)", 402, 400],
    ["OpenAI/JS 7.57.0", 429, 429],
    ["ai/7.0.12 ai-sdk/openai/5.0.3 ai-sdk/provider-utils/5.0.1 runtime/node.js/24", 429, 429],
    [null, 429, 429],
  ])(
    "of a quota or a long rate limit is final at once for %s, where it would wait in silence",
    (userAgent, ...statuses) => {
      const refusal = (code: "quota_exhausted" | "rate_limited", retryAfterMs: number) =>
        new MillraceError(code, "No more.", { retryAfterMs }).toRecord();
      const refused = [refusal("quota_exhausted", 1_000), refusal("rate_limited", 30_000)];
      expect(refused.map((error) => statusFor(error, userAgent))).toEqual(statuses);
      expect(statusFor(refusal("rate_limited", 4_000), userAgent)).toBe(429);
    },
  );

  test("of a prompt that was looked for in vain is final at once for everyone: no name is needed", () => {
    const lost = new MillraceError("upstream_failed", "It broke.", { details: { reason: lostPrompt } }).toRecord();
    for (const userAgent of [null, "my-app/1.0", "OpenAI/JS 7.57.0", "ai/7.0.12", "opencode/1.18.33"])
      expect(statusFor(lost, userAgent)).toBe(400);
    for (const userAgent of [codex, langChain, chatAnthropic]) expect(statusFor(lost, userAgent)).toBe(400);
    expect(encodeError(lost, "req-1").headers).toEqual({ "x-should-retry": "false" });
    expect(statusFor(first, null)).toBe(encodeError(first, "req-1").status);
  });

  test("has no word for which OpenCode retries it, for any status", () => {
    const limited = new MillraceError("rate_limited", "The message rate limit for this model is reached.", {
      hint: "The IDE's server had an internal error. Try again later.",
      details: { looked: ["port 42900"], kept: 1 },
      repeated: true,
    }).toRecord();
    const { status, body } = forClient(encodeError(limited, "0190-4290-5000"), limited, "opencode/1.18.33");
    expect(status).toBe(400);
    const text = JSON.stringify(body);
    expect(text).not.toMatch(/429|50[0234]|524|rate.?limit|internal.error|server.error|try again later/i);
    expect(text).toContain("The limit on messages for this model is reached.");
    expect(text).toContain('"kept":1');
  });

  test("that has no other words says where the reason stands", () => {
    const odd = new MillraceError("quota_exhausted", "Code 429.", { repeated: true }).toRecord();
    const { body } = forClient(encodeError(odd, "req-1"), odd, "opencode/1.18.33");
    expect(body).toMatchObject({ error: { message: expect.stringContaining("millrace tail") } });
  });

  test("is the message alone for Codex, which shows the whole body", () => {
    const long = new MillraceError("ide_not_running", "No IDE.", { details: { looked_at: ["much"] } }).toRecord();
    expect(JSON.stringify(forClient(encodeError(long, "req-1"), long, codex).body)).not.toContain("looked_at");
  });

  test("says in a header that no repeat helps", () => {
    for (const error of [quota, broken, noIde])
      expect(encodeError(error, "req-1").headers).toEqual({ "x-should-retry": "false" });
  });

  test("stays what it is where a client would not repeat it", () => {
    const failed = (code: "upstream_failed" | "context_too_long") =>
      new MillraceError(code, "It failed.", { final: true }).toRecord();
    expect(statusFor(failed("upstream_failed"), null)).toBe(400);
    expect(statusFor(failed("upstream_failed"), codex)).toBe(400);
    expect(statusFor(failed("context_too_long"), null)).toBe(400);
  });

  test("is distinguished from one that may pass", () => {
    expect(statusFor(first, codex)).toBeGreaterThanOrEqual(500);
  });

  test("of a rate limit has the wait, and may be repeated only where that is short", () => {
    const limited = (retryAfterMs: number) =>
      encodeError(new MillraceError("rate_limited", "Slow down.", { retryAfterMs }).toRecord(), "req-1").headers;
    expect(limited(4_000)).toEqual({ "retry-after": "4", "x-should-retry": "true" });
    expect(limited(30_000)).toEqual({ "retry-after": "30", "x-should-retry": "false", "retry-after-ms": "1000" });
  });
});

test("LangChain's model of Anthropic's API is known by a header that Anthropic's SDK does not send from a server", () => {
  const sdk = "Anthropic/JS 1.12.0";
  expect(clientName(new Headers({ "user-agent": sdk }))).toBe(sdk);
  expect(chatAnthropic).toMatch(/^langchain/);
});

describe("an error in a stream", () => {
  const errorFor = (error: ErrorRecord, userAgent: string | null) => {
    const [sent] = streamErrorForClient([encodeStreamError(error, "req-1")], error, userAgent);
    return (JSON.parse(sent?.data ?? "") as { readonly error: { readonly type: string; readonly message: string } })
      .error;
  };
  const demand = new MillraceError("rate_limited", "The model is in high demand.").toRecord();
  const final = new MillraceError("upstream_failed", "The server had an internal error.", { final: true }).toRecord();
  const qwen = "QwenCode/0.24.4 (linux; x64)";

  test("is of a type after which Qwen Code neither waits a minute nor asks for the rest", () => {
    expect(errorFor(demand, qwen).type).toBe("invalid_request_error");
    expect(errorFor(first, qwen).type).toBe("invalid_request_error");
    expect(errorFor(demand, qwen).message).toBe(errorFor(demand, null).message);
  });

  test("may be repeated once by the others, where it is no refusal", () => {
    expect(errorFor(demand, "OpenAI/JS 7.57.0").type).toBe("rate_limit_error");
    expect(errorFor(first, "opencode/1.18.33").type).toBe("server_error");
    expect(errorFor(demand, "opencode/1.18.33").type).toBe("invalid_request_error");
  });

  test("that is final has no word for which OpenCode repeats it", () => {
    expect(errorFor(final, "opencode/1.18.33").message).toContain("internal fault");
    expect(errorFor(final, null).type).toBe("invalid_request_error");
  });
});

describe("an error begins with the API's own sentence, for which programs look", () => {
  const record = (code: ErrorCode, details?: object, more = {}) =>
    new MillraceError(code, "Ours says why.", { hint: "Do this.", details, ...more }).toRecord();
  const saidBy = (error: ErrorRecord, encode: Dialect["encodeError"]) => {
    const { error: told } = encode(error, "req-1").body as { readonly error: string | { readonly message: string } };
    return typeof told === "string" ? told : told.message;
  };
  const long = record("context_too_long", { tokens: 205_000, maximum: 200_000 });
  const unknown = record("unknown_model", { asked: "gpt-9" });

  test.each([
    [long, encodeAnthropicError, /^prompt is too long: 205000 tokens > 200000 maximum\. Ours says why\. Do this\.$/],
    [
      long,
      encodeOpenAiError,
      /^This model's maximum context length is 200000 tokens\. .* 205000 tokens\. Ours says why/,
    ],
    [long, encodeOllamaError, /^The input length exceeds the context length\. Ours/],
    [unknown, encodeAnthropicError, /^model: gpt-9\. Ours/],
    [unknown, encodeOpenAiError, /^The model `gpt-9` does not exist or you do not have access to it\. Ours/],
    [unknown, encodeOllamaError, /^model 'gpt-9' not found\. Ours/],
    [record("upstream_failed"), encodeAnthropicError, /^Overloaded\. Ours/],
    [record("unavailable"), encodeOpenAiError, /^The server is overloaded\. Ours/],
    [record("rate_limited"), encodeOpenAiError, /^Rate limit reached\. Ours/],
    [record("rate_limited"), encodeAnthropicError, /^This request would exceed your account's rate limit\. Ours/],
    [record("quota_exhausted"), encodeOpenAiError, /^You exceeded your current quota, please check your plan and/],
    [record("invalid_request"), encodeOpenAiError, /^Ours says why\. Do this\.$/],
  ] as const)("%#", (error, encode, expected) => expect(saidBy(error, encode)).toMatch(expected));

  test("a final one has none that provokes a repeat", () => {
    const final = new MillraceError("rate_limited", "The message rate limit is reached: too many requests.", {
      hint: "The model is overloaded. Try again later.",
      repeated: true,
    }).toRecord();
    for (const encode of [encodeOpenAiError, encodeAnthropicError, encodeOllamaError]) {
      const { status, body } = encode(final, "req-1");
      expect(status).toBe(400);
      expect(JSON.stringify(body)).toContain("The limit on messages is reached");
      const words = /rate.?limit(?!ed")|too many requests|overloaded|try again|429/i;
      expect(saidBy(final, encode)).not.toMatch(words);
    }
    expect(encodeOpenAiError(final, "req-1").body).toMatchObject({ error: { code: "rate_limited" } });
  });

  test("has the size also where an agent says none: a client computes from it what to leave out", () => {
    const agents = record("context_too_long");
    expect(saidBy(sizedError(agents, 90_000, 200_000), encodeAnthropicError)).toMatch(
      /^prompt is too long: 200001 tokens > 200000 /,
    );
    expect(saidBy(sizedError(agents, 250_000, 200_000), encodeAnthropicError)).toMatch(/: 250000 tokens > 200000 /);
    expect(sizedError(long, 9, 9)).toBe(long);
    expect(sizedError(unknown, 9, 9)).toBe(unknown);
  });
});
