import { create, fromBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import {
  type StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
  StreamUnifiedChatResponseWithToolsIdempotentSchema as ServerMessageSchema,
} from "../../../proto/aiserver/v1/chat_pb.ts";
import { type PollAnswer, PolledAttach } from "./poll.ts";

const never = new AbortController().signal;

/** A way down that a test feeds. */
function begin() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const queue: (number | Error | "end")[] = [];
  const state = { freed: false, wake: () => {} };
  stop.signal.addEventListener("abort", () => state.wake());
  async function* down(): AsyncGenerator<ServerMessage, void> {
    try {
      for (;;) {
        if (stop.signal.aborted) return;
        const next = queue.shift();
        if (next === "end") return;
        if (next instanceof Error) throw next;
        if (next !== undefined) yield create(ServerMessageSchema, { response: { case: "seqnoAck", value: next } });
        else await new Promise<void>((resolve) => (state.wake = resolve));
      }
    } finally {
      state.freed = true;
    }
  }
  const polled = new PolledAttach(down(), clock, () => stop.abort());
  const feed = (...items: (number | Error | "end")[]) => {
    queue.push(...items);
    state.wake();
  };
  return { clock, polled, feed, state, stop };
}

async function all(answers: AsyncIterable<PollAnswer>): Promise<readonly PollAnswer[]> {
  const got: PollAnswer[] = [];
  for await (const answer of answers) got.push(answer);
  return got;
}

const acksOf = (answers: readonly PollAnswer[]) =>
  answers.map(({ data }) => fromBinary(ServerMessageSchema, Buffer.from(data, "hex")).response.value);

test("a poll answers what there is and ends; numbers continue over all polls", async () => {
  const { clock, polled, feed } = begin();
  feed(1, 2);
  const first = all(polled.poll(never));
  await clock.advance(5);
  expect((await first).map(({ seqno }) => seqno)).toEqual([0n, 1n]);
  feed(3, "end");
  const second = await all(polled.poll(never));
  expect(acksOf(await first)).toEqual([1, 2]);
  expect(second).toMatchObject([{ seqno: 2n }, { seqno: 3n, data: "", eof: true }]);
});

test("a poll without news ends after 15 s; what comes later is the next poll's, and nothing is lost", async () => {
  const { clock, polled, feed } = begin();
  const first = all(polled.poll(never));
  await clock.advance(14_999);
  const second = clock.advance(1);
  expect(await first).toEqual([]);
  await second;
  feed(7);
  const next = all(polled.poll(never));
  await clock.advance(5);
  expect(acksOf(await next)).toEqual([7]);
});

test("a downstream without a poll for 30 s is freed, also between two messages", async () => {
  const { clock, polled, feed, state } = begin();
  feed(1);
  const first = all(polled.poll(never));
  await clock.advance(5);
  await first;
  await clock.advance(29_000);
  expect(state.freed).toBe(false);
  await clock.advance(1_000);
  expect(state.freed).toBe(true);
});

test("a poll that was cut ends the attach, because the gateway cannot know how much arrived", async () => {
  const { polled, feed, state } = begin();
  const cut = new AbortController();
  const poll = polled.poll(cut.signal);
  feed(1);
  await poll.next();
  cut.abort(new Error("cut"));
  await expect(poll.next()).rejects.toThrow("cut");
  await expect.poll(() => state.freed).toBe(true);
});

test("a way down that fails fails the poll, and two polls at once are one too many", async () => {
  const { polled, feed } = begin();
  const first = polled.poll(never).next();
  await expect(polled.poll(never).next()).rejects.toThrow("Another poll");
  feed(new Error("broken"));
  await expect(first).rejects.toThrow("broken");
});

test("a poll that waits keeps its attach, however late it came", async () => {
  const { clock, polled, feed, state } = begin();
  feed(1);
  const first = all(polled.poll(never));
  await clock.advance(5);
  await first;
  await clock.advance(25_000);
  const second = all(polled.poll(never));
  await clock.advance(10_000);
  expect(state.freed).toBe(false);
  feed(2);
  await clock.advance(5);
  expect(acksOf(await second)).toEqual([2]);
});
