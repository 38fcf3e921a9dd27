import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { until } from "../../base/wait.fake.ts";
import type { StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage } from "../../proto/aiserver/v1/chat_pb.ts";
import { transportTo } from "../routes.fake.ts";
import { FakeStreamServer } from "../stream-server.fake.ts";
import { openBidiTier, openPollTier, type Tier } from "../tiers/tier.ts";
import { startReliableStream } from "./open-stream.ts";
import type { ConnectionChange } from "./stream-options.ts";
import { link, never, plain, readAll, request, scripted } from "./stream-world.fake.ts";

describe("a connection that is silent", () => {
  /** Says nothing, and does not hear that it should stop. */
  const mute = (): AsyncIterable<ServerMessage> => ({
    [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
  });

  test("counts as dead, and the stream continues over the next tier, from then on at once", async () => {
    const server = new FakeStreamServer(plain);
    const clock = new FakeClock();
    const silent = scripted(mute);
    const works = openPollTier(transportTo(server));
    const options = { gateway: link(silent, works), clock, patience: { welcomeMs: 2000, stallMs: 9000 } };
    const over: string[] = [];
    const told = {
      ...options,
      onConnection: (change: ConnectionChange) => over.push(`${change.state} ${change.tier}`),
    };
    const first = readAll(await startReliableStream(request, told, never));
    await clock.advance(1999);
    expect(over).toEqual([]);
    await clock.advance(1);
    await clock.advance(1000);
    expect((await first).at(-1)).toMatchObject({ type: "end", outcome: "finished" });
    expect(over).toEqual(["reconnecting poll", "attached poll"]);
    await readAll(await startReliableStream(request, told, never));
    expect(silent.attached).toHaveLength(1);
  });

  test("after its welcome too, but not as long as the server says that it lives", async () => {
    const server = new FakeStreamServer(plain);
    server.holdFrom = 2;
    const clock = new FakeClock();
    const changes: string[] = [];
    const works = openBidiTier(transportTo(server));
    /** Messages after which the client waits for the next one. */
    let handled = 0;
    const tier: Tier = {
      name: "bidi",
      async *attach(...words) {
        for await (const message of works.attach(...words)) {
          yield message;
          handled++;
        }
      },
    };
    const options = {
      gateway: link(tier),
      clock,
      patience: { welcomeMs: 2000, stallMs: 9000 },
      onConnection: (change: ConnectionChange) => changes.push(change.state),
    };
    const read = readAll(await startReliableStream(request, options, never));
    await until(() => handled === 4); // welcome, acknowledgement, two events
    for (let i = 1; i <= 5; i++) {
      await clock.advance(8000);
      server.heartbeat();
      await until(() => handled === 4 + i);
    }
    expect(changes).toEqual(["attached"]);
    await clock.advance(9000);
    await until(() => changes.length === 2);
    server.holdFrom = Infinity;
    await clock.advance(1000);
    expect((await read).at(-1)).toMatchObject({ type: "end" });
    expect(changes).toEqual(["attached", "reconnecting", "attached"]);
  });
});
