import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { openMemoryLog } from "../../log/memory-log.fake.ts";
import {
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
} from "../../proto/aiserver/v1/chat_pb.ts";
import { FakeBackend } from "../../turns/backend.fake.ts";
import type { StreamTurns } from "../../turns/open-turns.ts";
import { parseAttach } from "./attach-headers.ts";
import { gatewayOver } from "./attachers.fake.ts";
import { type MessageInit, say } from "./raw-client.fake.ts";
import { carry, runSession } from "./session.ts";
import { headersOf, newNames } from "./stream-world.fake.ts";

/** An attach whose messages come, and end, at the test's command. */
function attach(backend = new FakeBackend()) {
  const store = openMemoryLog({ clock: new FakeClock() });
  const { parts: real, turns, clock } = gatewayOver(store, backend, "owner-1");
  let closed = 0;
  /** How often each event was read by attaches that only look. */
  const events = new Map<string, number>();
  const counting: StreamTurns["attach"] = async (...asked) => {
    const attachment = await real.streams.attach(...asked);
    const close = () => {
      closed++;
      attachment.close();
    };
    const follow: typeof attachment.follow = async function* (...which) {
      for await (const event of attachment.follow(...which)) {
        events.set(event.eventId, (events.get(event.eventId) ?? 0) + 1);
        yield event;
      }
    };
    return asked[1] === "observe" ? { ...attachment, follow } : { ...attachment, close };
  };
  const refused: string[] = [];
  const note = (_: string, { message }: Error) => void refused.push(message);
  const parts = { ...real, streams: { attach: counting }, refused: { ...real.refused, note } };
  const names = newNames();
  const headers = new Headers(headersOf(names));
  const client = new AbortController();
  const arrived = Promise.withResolvers<{ readonly said: readonly MessageInit[]; readonly error?: Error }>();
  async function* messages(): AsyncGenerator<ClientMessage, void> {
    const { said, error } = await arrived.promise;
    for (const init of said) yield create(ClientMessageSchema, init);
    if (error !== undefined) throw error;
  }
  const stopping = new AbortController().signal;
  const up = { caller: "caller", headers, messages: messages(), waitsForGaps: false };
  const down = carry({ ...up, signal: client.signal }, (carrier) => runSession(parts, carrier, stopping));
  return {
    down,
    clock,
    events,
    closed: () => closed,
    /** The refusals that the list of refused requests shows. */
    refused,
    /** Another attach of the stream, that only reads it. */
    observe: (stopped: AbortSignal) => {
      const onlooker = new Headers(headersOf(names, "0", { "x-millrace-intent": "observe" }));
      return carry({ ...up, headers: onlooker, signal: never }, (carrier) => runSession(parts, carrier, stopped));
    },
    leave: () => client.abort(new Error("left")),
    arrive: (said: readonly MessageInit[], error?: Error) => arrived.resolve({ said, ...(error && { error }) }),
    /** The accepted messages, by number. */
    accepted: async () => {
      const { accepted } = await store.attachStream(parseAttach(headers, "caller").name, "observe");
      await turns.stop();
      return accepted.map(({ seqno, turnId }) => ({ seqno, starts: turnId !== undefined }));
    },
  };
}

const never = new AbortController().signal;
const request = [{ seqno: 0, starts: true }];

/** A backend that is found at the test's command. */
class LateBackend extends FakeBackend {
  readonly found = Promise.withResolvers<void>();

  override async choose() {
    await this.found.promise;
    return super.choose();
  }
}

test("a client that sends nothing on a stream that nobody knows is told so", async () => {
  const { down, clock } = attach();
  await down.next(); // the welcome
  const [told] = await Promise.allSettled([down.next(), clock.advance(8_000)]);
  expect(told).toMatchObject({ status: "rejected", reason: { message: expect.stringMatching(/sent no request/) } });
});

test("a request that takes long to be stored is not taken for one that was never sent", async () => {
  const backend = new LateBackend();
  const { down, clock, arrive } = attach(backend);
  await down.next(); // the welcome
  arrive([say.request("Hello")]);
  const told = down.next();
  await clock.advance(20_000);
  backend.found.resolve();
  expect(await told).toMatchObject({ value: { response: { case: "seqnoAck", value: 0 } } });
  expect(await down.next()).toMatchObject({ value: { response: { case: "serverChunk" } } });
  await down.return();
});

test("an attach whose client has left before it is open takes nothing over", async () => {
  const { down, leave, arrive, accepted } = attach();
  leave();
  arrive([say.request("Hello")]);
  expect(await down.next()).toEqual({ value: undefined, done: true });
  await expect(accepted()).rejects.toMatchObject({ code: "expired" });
});

test("an attach that a stop of the gateway meets before its welcome is told of the stop, and may come back", async () => {
  const { down, arrive, observe } = attach();
  await down.next(); // the welcome
  arrive([say.request("Hello")]);
  await down.next(); // the acknowledgement
  await down.next(); // a chunk: the log has something to read
  const reason = new ConnectError("The gateway is stopping.", Code.Unavailable);
  await expect(observe(AbortSignal.abort(reason)).next()).rejects.toBe(reason);
  await down.return();
});

test("an attach reads each event that the stream's logs hold once, also a part of a running turn", async () => {
  const backend = new FakeBackend();
  const { down, arrive, observe, events } = attach(backend);
  await down.next(); // the welcome
  arrive([say.request("Hello")]);
  const texts = ["one ", "two ", "three "];
  const next = async (from: typeof down) => {
    for (;;) {
      const { value } = await from.next();
      if (value?.response.case === "serverChunk") return value.response.value;
    }
  };
  await next(down); // the start
  for (const text of texts) {
    backend.last.text(text);
    await next(down);
  }
  const onlooker = observe(never);
  events.clear();
  await next(onlooker);
  for (const text of texts) expect((await next(onlooker)).response.value).toMatchObject({ text });
  backend.last.text("four");
  expect((await next(onlooker)).response.value).toMatchObject({ text: "four" });
  expect([...events.values()]).toEqual([1, 1, 1, 1, 1]);
  await onlooker.return();
  await down.return();
});

async function untilEnd(down: ReturnType<typeof attach>["down"]): Promise<void> {
  for await (const _ of down) continue;
}

test("what came before something that cannot be read counts", async () => {
  const { down, arrive, accepted } = attach();
  arrive([say.request("Hello")], new ConnectError("not a message", 3));
  await expect(untilEnd(down)).rejects.toThrow(/cannot be read/);
  expect(await accepted()).toEqual(request);
});

test.each([
  ["stands in the list of refused requests where no turn tells of it", [], 1],
  ["is told by its turn where there is one", [say.request("Hello")], 0],
])("a message that cannot be read %s", async (_, before, listed) => {
  const { down, arrive, refused } = attach();
  arrive(before, new ConnectError("not a message", Code.InvalidArgument));
  await expect(untilEnd(down)).rejects.toThrow(/cannot be read/);
  expect(refused).toHaveLength(listed);
});

test("an attach gives its hold on the stream back when it ends, however it ends", async () => {
  const ends: readonly ((one: ReturnType<typeof attach>) => Promise<unknown>)[] = [
    ({ down }) => down.return(),
    ({ down, arrive }) => {
      arrive([], new ConnectError("not a message", Code.InvalidArgument));
      return down.next().catch(() => "refused");
    },
  ];
  for (const end of ends) {
    const one = attach();
    await one.down.next(); // the welcome
    expect(one.closed()).toBe(0);
    await end(one);
    expect(one.closed()).toBe(1);
  }
});
