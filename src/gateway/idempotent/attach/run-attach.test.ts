import { create } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import {
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
} from "../../../proto/aiserver/v1/chat_pb.ts";
import { FakeBackend } from "../../../turns/backend.fake.ts";
import { type MessageInit, say } from "../raw-client.fake.ts";
import { parseAttach } from "../rpc/attach-headers.ts";
import { headersOf, newNames, sealedMemoryLog } from "../stream-world.fake.ts";
import { gatewayOver } from "./attachers.fake.ts";
import { runAttach } from "./run-attach.ts";

/** An attach whose messages come, and end, at the test's command. */
function attach(backend = new FakeBackend()) {
  const store = sealedMemoryLog(new FakeClock());
  const { parts, turns, clock } = gatewayOver(store, backend, "owner-1");
  const headers = new Headers(headersOf(newNames()));
  const client = new AbortController();
  const arrived = Promise.withResolvers<{ readonly said: readonly MessageInit[]; readonly error?: Error }>();
  async function* messages(): AsyncGenerator<ClientMessage, void> {
    const { said, error } = await arrived.promise;
    for (const init of said) yield create(ClientMessageSchema, init);
    if (error !== undefined) throw error;
  }
  const down = runAttach(
    parts,
    {
      caller: "caller",
      headers: async () => headers,
      messages: messages(),
      waitsForGaps: false,
      signal: client.signal,
    },
    new AbortController().signal,
  );
  return {
    down,
    clock,
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
  await down.return();
});

test("what came before the client of an open attach left is worked on, and then the attach is over", async () => {
  const { down, leave, arrive, accepted } = attach();
  await down.next(); // the welcome
  leave();
  const over = down.return();
  arrive([say.request("Hello"), say.close(1)]);
  await over;
  expect(await accepted()).toEqual([...request, { seqno: 1, starts: false }]);
});

test("the messages of a client that left before its attach was open still count, and it gets no answer", async () => {
  const { down, leave, arrive, accepted } = attach();
  leave();
  arrive([say.request("Hello")], new Error("the connection broke"));
  const told = [];
  for await (const message of down) told.push(message.response.case);
  expect(told).toEqual(["welcomeMessage"]); // which is not read, because the connection is closed
  expect(await accepted()).toEqual(request);
});

test("what came before something that cannot be read counts", async () => {
  const { down, arrive, accepted } = attach();
  arrive([say.request("Hello")], new ConnectError("not a message", 3));
  const read = async () => {
    for await (const _ of down) continue;
  };
  await expect(read()).rejects.toThrow(/cannot be read/);
  expect(await accepted()).toEqual(request);
});
