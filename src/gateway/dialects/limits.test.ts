import { describe, expect, it } from "vitest";
import { type ErrorCode, MillraceError, type MillraceErrorOptions } from "../../base/errors.ts";
import { eventIdOf, type TurnEventBody, type Usage } from "../../log/event.ts";
import { recordedContext, recordedRequest } from "../recorded.fake.ts";
import { AnswerFold } from "./answer.ts";
import { bounds } from "./bounds.ts";
import { isLongRefusal, retryHeaders, sizedError } from "./errors.ts";
import { StreamEncoder } from "./idempotent/encode.ts";
import { openAiResponses } from "./openai-responses/encode.ts";
import { reportedUsage } from "./openai-usage.ts";
import { outputLimit, stopSequences } from "./parse-body.ts";

const error = (code: ErrorCode, options: MillraceErrorOptions = {}) =>
  new MillraceError(code, "No.", options).toRecord();
const refused = (retryAfterMs: number) => error("rate_limited", { retryAfterMs });
const text = (delta: string): TurnEventBody => ({ type: "text", delta });
const ended = (unified: "stop" | "tool_calls", whole: string): TurnEventBody => ({
  type: "finished",
  reason: { unified, raw: undefined },
  text: whole,
});

describe("the wait of a refusal", () => {
  it("is told in whole seconds, rounded up, a second at least and a minute at most", () => {
    const seconds = [0, 1, 1_000, 1_001, 9_999, 60_000, 3_600_000].map(
      (ms) => retryHeaders(refused(ms))["retry-after"],
    );
    expect(seconds).toEqual(["1", "1", "1", "2", "10", "60", "60"]);
  });

  it("is one for a program up to ten seconds, and one for a person beyond", () => {
    expect([10_000, 10_001].map((ms) => retryHeaders(refused(ms))["x-should-retry"])).toEqual(["true", "false"]);
    expect([10_000, 10_001].map((ms) => isLongRefusal(refused(ms)))).toEqual([false, true]);
    expect([error("rate_limited"), error("quota_exhausted"), error("internal")].map(isLongRefusal)).toEqual([
      true,
      true,
      false,
    ]);
  });
});

it("a prompt that is too long is larger than what fits, also where the estimate would fit, and keeps the agent's own size", () => {
  const size = (tokens: number) => sizedError(error("context_too_long"), tokens, 100).details;
  expect([50, 100, 101].map(size)).toEqual([101, 101, 101].map((tokens) => ({ tokens, maximum: 100 })));
  const told = error("context_too_long", { details: { tokens: 7 } });
  expect(sizedError(told, 200, 100)).toBe(told);
});

describe("what a client asks for", () => {
  it("has as many stop sequences as its API takes, as long as a thousand characters each, and no more", () => {
    const some = (count: number) => Array.from({ length: count }, (_, n) => `stop ${n}`);
    const { openai, others } = bounds.stop.sequences;
    for (const most of [openai, others]) {
      expect(stopSequences(some(most), "stop", most)).toHaveLength(most);
      expect(stopSequences([...some(most), "stop 0", ""], "stop", most)).toHaveLength(most);
      expect(() => stopSequences(some(most + 1), "stop", most)).toThrow("stop sequences");
    }
    expect(stopSequences("x".repeat(1_000), "stop")).toHaveLength(1);
    expect(() => stopSequences("x".repeat(1_001), "stop")).toThrow("1,000 characters");
  });

  it("has no more tokens of output than the IDE's field holds", () => {
    const most = bounds.outputTokens;
    expect([0, 1.5, most, most + 1, -1, undefined].map((given) => outputLimit(given).maxOutputTokens)).toEqual([
      0,
      1,
      most,
      most,
      undefined,
      undefined,
    ]);
  });
});

it("an event that no log holds has the number of the last one that a log holds", () => {
  const encoder = openAiResponses.encoder(recordedContext({ wire: { echo: {}, ownFrom: 0, namespaced: {} } }));
  const numbers = (events: readonly { readonly data: string }[]) =>
    events.map(({ data }) => (JSON.parse(data) as { sequence_number: number }).sequence_number);
  expect(numbers(encoder.heartbeat())).toEqual([0]);
  expect(numbers(encoder.open())).toEqual([0, 1]);
  expect(numbers(encoder.heartbeat())).toEqual([1]);
  const first = numbers(encoder.encode({ ...text("a"), eventId: eventIdOf(1), atMs: 0 }));
  expect(first[0]).toBe(2);
  expect(numbers(encoder.broken(error("internal")))).toEqual([first.at(-1), first.at(-1)]);
});

const usage = (promptTokens: number, completionTokens: number): Usage => ({
  promptTokens,
  completionTokens,
  thinkingTokens: 0,
  estimated: false,
});

it("the usage of a stream is that of all its turns", () => {
  const told = (failed: ReturnType<typeof error>) => failed;
  const chunks: { readonly streamEnd?: unknown }[] = [];
  const encoder = new StreamEncoder({ digest: (_, chunk) => chunk, unread: () => [], told });
  for (const n of [1, 2, 3]) {
    encoder.begin();
    const last = ended(n === 3 ? "stop" : "tool_calls", "");
    for (const [seq, body] of [{ type: "usage", ...usage(n, 10 * n) } as const, last].entries())
      encoder.push({ ...body, eventId: eventIdOf(seq + 1), atMs: 0 }, (chunk) => chunks.push(chunk));
  }
  expect(encoder.ended).toBeDefined();
  expect(chunks.at(-1)?.streamEnd).toMatchObject({ promptTokens: 6, completionTokens: 60 });
});

it("an estimate counts thinking as a part of what was written, and a reported usage is told as it is", () => {
  const fold = new AnswerFold(recordedRequest);
  for (const body of [{ type: "thinking", delta: "12345678" } as const, text("1234"), ended("stop", "1234")])
    fold.push(body);
  const context = recordedContext({});
  expect(reportedUsage(fold.answer, context)).toEqual({
    promptTokens: context.promptTokens,
    completionTokens: 3,
    thinkingTokens: 2,
    estimated: true,
  });
  expect(reportedUsage({ ...fold.answer, usage: usage(5, 6) }, context)).toEqual(usage(5, 6));
});
