import { expect } from "vitest";
import { idle } from "../../base/wait.fake.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { FakeGateway } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";

export const path = "/v1/chat/completions";
export const chat = { model: "test-model", messages: [{ role: "user", content: "Hello" }] };
export const streamed = { ...chat, stream: true };
export const failed = (code: "upstream_failed" | "rate_limited" | "quota_exhausted", more = {}): TurnEventBody => ({
  type: "failed",
  error: { code, message: "The upstream said no.", hint: "Wait.", ...more },
});
export const answer = [started, text("Hi"), text(" there."), finished("Hi there.")];

export async function openStream(
  fake: FakeGateway,
  headers: Record<string, string> = {},
  body: unknown = streamed,
  at = path,
) {
  const response = await fake.request(at, { json: body, headers: { "last-event-id": "", ...headers } }); // it may resume
  expect(response.status).toBe(200);
  return { response, reader: new SseReader(response) };
}

/** Waits for a response while the fake clock moves on in small steps. */
export async function whileTimePasses<T>(fake: FakeGateway, work: Promise<T>, eachStep = () => {}): Promise<T> {
  const finished = new AbortController();
  const watched = work.finally(() => finished.abort());
  while (!finished.signal.aborted) {
    eachStep();
    await fake.clock.advance(500);
  }
  return watched;
}

/** Whether a promise has settled by the time that nothing else is left to run. */
export async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  const mark = () => {
    done = true;
  };
  promise.then(mark, mark);
  await idle();
  return done;
}
