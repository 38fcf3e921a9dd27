import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { systemClock } from "../../base/clock.ts";
import { idle, until } from "../../base/wait.fake.ts";
import {
  type StreamUnifiedChatResponseWithTools as ServerChunk,
  StreamUnifiedChatResponseWithToolsSchema as ServerChunkSchema,
  type StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
} from "../../proto/aiserver/v1/chat_pb.ts";
import { openLink } from "../link/gateway-link.ts";
import { openMemoryRecordStore } from "../records/memory-record-store.ts";
import type { StreamRecord } from "../records/record.ts";
import { DyingStore } from "../records/record-store.fake.ts";
import { transportTo } from "../routes.fake.ts";
import {
  calls,
  FakeStreamServer,
  refusal,
  rewrites,
  type Script,
  type ServedStream,
  says,
  thinks,
} from "../stream-server.fake.ts";
import { openBidiTier } from "../tiers/bidi-tier.ts";
import { type Cut, cutTier } from "../tiers/faulty-tier.fake.ts";
import { openPollTier } from "../tiers/poll-tier.ts";
import { openSseTier } from "../tiers/sse-tier.ts";
import type { Attach, OpenTier, Tier } from "../tiers/tier.ts";
import type { StreamRequest } from "./messages.ts";
import { Queue } from "./queue.ts";
import type { ConnectionChange, ReliableStream, StreamInput } from "./reliable-stream.ts";
import { autoResume, resume } from "./resume.ts";
import { startReliableStream } from "./start-stream.ts";
import type { StreamEvent } from "./stream-event.ts";
import type { StreamOptions } from "./stream-options.ts";

const never = new AbortController().signal;
const request: StreamRequest = { model: "any", messages: [{ role: "user", text: "Hello?" }] };
const plain: Script = [[thinks("hm"), says("Hel"), says("lo "), says("there"), rewrites("Hello, you"), says("!")]];
const withTools: Script = [
  [says("Let me look. "), calls("call-1"), says("and "), calls("call-2"), says("wait. ")],
  [says("One more: "), calls("call-3")],
  [says("Done.")],
];
const tiers: readonly (readonly [string, OpenTier])[] = [
  ["bidi", openBidiTier],
  ["sse", openSseTier],
  ["poll", openPollTier],
];

/** No wait at all: what is tested is not time. */
const hasty = { backoff: { baseMs: 0, capMs: 0, budget: 60 }, clock: systemClock };

function optionsFor(
  server: FakeStreamServer,
  cutOf: (attach: number) => Cut | undefined = () => undefined,
  open: readonly OpenTier[] = [openBidiTier],
): StreamOptions {
  const transport = transportTo(server);
  return {
    ...hasty,
    gateway: openLink(
      open.map((openTier) => cutTier(openTier(transport), cutOf)),
      { circuit: { threshold: Infinity, coolDownMs: 0 } },
    ),
  };
}

/** Reads to the end, and runs each tool. */
async function readAll(stream: ReliableStream, ran: string[] = []): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of stream.events) {
    events.push(event);
    if (event.type === "tool_call")
      await stream.runTool(event, () => {
        ran.push(event.callId);
        return Promise.resolve({ text: `result of ${event.callId}` });
      });
  }
  return events;
}

/** The events that an application holds if it keeps events by their ids. */
const ids = (events: readonly StreamEvent[]) => events.map(({ eventId }) => eventId);

describe.each(tiers)("over %s", (_name, open) => {
  test("a stream arrives whole, and its end is proved", async () => {
    const server = new FakeStreamServer(plain);
    const stream = await startReliableStream(request, optionsFor(server, undefined, [open]), never);
    const events = await readAll(stream);
    expect(events.map(({ type }) => type)).toEqual(["thinking", "text", "text", "text", "rewritten", "text", "end"]);
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: "finished", reason: "stop" });
    expect(server.prompts).toBe(1);
  });

  test("a stream with tools continues after each result", async () => {
    const server = new FakeStreamServer(withTools);
    const ran: string[] = [];
    const stream = await startReliableStream(request, optionsFor(server, undefined, [open]), never);
    const events = await readAll(stream, ran);
    expect(ran).toEqual(["call-1", "call-2", "call-3"]);
    expect(ids(events)).toEqual(server.only.chunks.map(({ eventId }) => eventId));
  });

  test("a connection that is cut after any message, in either direction, every time, costs nothing", async () => {
    for (let after = 0; after < 14; after++) {
      for (const cut of [{ down: after }, { up: after }]) {
        const server = new FakeStreamServer(withTools);
        const ran: string[] = [];
        const options = optionsFor(server, (attach) => (attach < 3 ? cut : undefined), [open]);
        const events = await readAll(await startReliableStream(request, options, never), ran);
        expect(ids(events)).toEqual(server.only.chunks.map(({ eventId }) => eventId));
        expect(ran).toEqual(["call-1", "call-2", "call-3"]);
        expect(server.prompts).toBe(1);
        expect(server.only.accepted).toHaveLength(4);
      }
    }
  });
});

test("a stream whose connections go over any tiers and break anywhere is delivered as its log holds it", async () => {
  const cuts = fc.array(fc.record({ down: fc.nat(12), up: fc.nat(6) }), { maxLength: 8 });
  const order = fc.shuffledSubarray(
    tiers.map(([, open]) => open),
    { minLength: 1 },
  );
  await fc.assert(
    fc.asyncProperty(cuts, order, async (broken, open) => {
      const server = new FakeStreamServer(withTools);
      let attach = 0;
      const options = optionsFor(server, () => broken[attach++], open);
      const ran: string[] = [];
      const events = await readAll(await startReliableStream(request, options, never), ran);
      expect(ids(events)).toEqual(server.only.chunks.map(({ eventId }) => eventId));
      expect(ran).toEqual(["call-1", "call-2", "call-3"]);
      expect(server.prompts).toBe(1);
      const numbers = server.attaches.map((said) => Number(said?.split(".")[1]));
      expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b)); // so that a late one is known for the older
      expect(new Set(server.attaches.map((said) => said?.split(".")[0])).size).toBe(1);
    }),
    { numRuns: 30 },
  );
});

describe("an application that dies", () => {
  /** Lives until it dies or the stream ends, with what it kept by event id; then once more, to the end. */
  async function lives(dies: { readonly at: number; readonly when: "before" | "after" }, ownCursor: boolean) {
    const server = new FakeStreamServer(withTools);
    const first = new DyingStore(new Map(), dies);
    const kept = new Map<string, StreamEvent>();
    const effects: string[] = [];
    async function live(stream: ReliableStream): Promise<void> {
      for await (const event of stream.events) {
        kept.set(event.eventId, event);
        if (event.type === "tool_call")
          await stream.runTool(event, () => {
            effects.push(event.callId);
            return Promise.resolve({ text: "result" });
          });
      }
    }
    const options = optionsFor(server);
    let died = false;
    try {
      await live(await startReliableStream(request, { ...options, store: first }, never));
    } catch {
      died = true;
    }
    const second = new DyingStore(first.disk);
    for (const streamKey of first.disk.keys()) {
      const after = ownCursor ? { after: [...kept.keys()].at(-1) ?? "0" } : {};
      await live(await resume(streamKey, { ...options, ...after, store: second }, never));
    }
    expect(second.disk.size).toBe(0);
    return { server, kept, effects, died, saves: first.saves };
  }

  test.each([true, false])(
    "at any write of its record loses nothing, asks once and runs no tool twice (own cursor: %s)",
    async (ownCursor) => {
      let reached = 0;
      for (let at = 0; ; at++) {
        const all = await Promise.all((["before", "after"] as const).map((when) => lives({ at, when }, ownCursor)));
        if (all.every(({ died }) => !died)) break;
        for (const { server, kept, effects } of all) {
          reached++;
          if (server.streams.size === 0) continue; // it died before anything was sent
          expect([...kept.keys()]).toEqual(server.only.chunks.map(({ eventId }) => eventId));
          expect(new Set(effects).size).toBe(effects.length);
          expect(server.only.accepted).toHaveLength(4);
          expect(server.prompts).toBe(1);
        }
      }
      expect(reached).toBeGreaterThan(15);
    },
  );
});

/** A tier whose attaches answer with the given functions, in turn. */
function scripted(...answers: readonly (() => AsyncIterable<ServerMessage>)[]): Tier & { readonly attached: Attach[] } {
  const attached: Attach[] = [];
  return {
    name: "sse",
    attached,
    attach: (attach) => {
      attached.push(attach);
      const answer = answers[attached.length - 1] ?? answers.at(-1);
      if (answer === undefined) throw new Error("nothing is scripted");
      return answer();
    },
  };
}

/** A call that fails before anything comes. */
function failing(error: unknown): AsyncIterable<ServerMessage> {
  const failed = async (): Promise<IteratorResult<ServerMessage>> => {
    throw error;
  };
  return { [Symbol.asyncIterator]: () => ({ next: failed }) };
}

const link = (...open: readonly Tier[]) => openLink(open, { circuit: { threshold: Infinity, coolDownMs: 0 } });

describe("a stream that the gateway refuses", () => {
  test.each([
    ["expired", 1],
    ["diverged", 1],
    ["ticket_spent", 2], // the one before counts once more
    ["seqno_conflict", 1],
    ["superseded", 4], // the others may have been older attaches of its own, which came late
  ])("ends with the gateway's error: %s", async (reason, attaches) => {
    const tier = scripted(() => failing(refusal(reason, "expired", Code.FailedPrecondition)));
    const stream = await startReliableStream(request, { ...hasty, gateway: link(tier) }, never);
    await expect(readAll(stream)).rejects.toMatchObject({ code: "expired", hint: "h", details: { reason } });
    expect(tier.attached).toHaveLength(attaches);
  });

  test.each([0, 1])("continues when its attach number %i comes in late once more, and takes over", async (late) => {
    const server = new FakeStreamServer(plain);
    const works = cutTier(openBidiTier(transportTo(server)), (attach) => (attach === 0 ? { down: 2 } : undefined));
    const attached: Headers[] = [];
    const tier: Tier = {
      name: "bidi",
      attach: (attach, signal) => {
        attached.push(new Headers(attach.headers));
        return works.attach(attach, signal);
      },
    };
    server.holdFrom = 3;
    const stream = await startReliableStream(request, { ...hasty, gateway: link(tier) }, never);
    const events: StreamEvent[] = [];
    for await (const event of stream.events) {
      events.push(event);
      const headers = attached[late];
      if (events.length !== 3 || headers === undefined) continue;
      server.holdFrom = Infinity;
      await server
        .attach(headers, never)
        .next()
        .catch(() => undefined); // from a client that was killed
      server.changed();
    }
    expect(ids(events)).toEqual(server.only.chunks.map(({ eventId }) => eventId));
    expect(attached).toHaveLength(3);
  });

  test("ends when its key is wrong, and keeps its record for the right one", async () => {
    const disk = new Map();
    const tier = scripted(() => failing(new ConnectError("no", Code.Unauthenticated)));
    const options = { ...hasty, gateway: link(tier), store: new DyingStore(disk) };
    await expect(readAll(await startReliableStream(request, options, never))).rejects.toMatchObject({
      code: "unauthenticated",
    });
    expect(disk.size).toBe(1);
  });

  test("forgets a record that is expired, and one whose request was never accepted", async () => {
    const disk = new Map();
    const tier = scripted(() => failing(refusal("", "unknown_model", Code.InvalidArgument)));
    const options = { ...hasty, gateway: link(tier), store: new DyingStore(disk) };
    await expect(readAll(await startReliableStream(request, options, never))).rejects.toMatchObject({
      code: "unknown_model",
    });
    expect(disk.size).toBe(0);
  });

  test("reports a gateway that does not speak the protocol", async () => {
    const tier = scripted(() => failing(new ConnectError("404", Code.Unimplemented)));
    const stream = await startReliableStream(request, { ...hasty, gateway: link(tier) }, never);
    await expect(readAll(stream)).rejects.toThrow("does not speak the stream protocol");
  });
});

describe("a gateway that is away", () => {
  test("is tried as often as the budget says, with waits that are drawn, and never after", async () => {
    const tier = scripted(() => failing(new ConnectError("gone", Code.Unavailable)));
    const clock = new FakeClock();
    const waits: number[] = [];
    const stream = await startReliableStream(
      request,
      {
        gateway: link(tier),
        clock,
        random: () => 0.5,
        backoff: { baseMs: 100, capMs: 1000, budget: 6 },
        onConnection: (change) => change.state === "reconnecting" && waits.push(change.waitMs),
      },
      never,
    );
    const read = readAll(stream).catch((error: unknown) => error);
    for (let i = 0; i < 10; i++) await clock.advance(1000);
    expect(await read).toMatchObject({ code: "upstream_failed" });
    expect(waits).toEqual([50, 100, 200, 400, 500, 500]);
    expect(tier.attached).toHaveLength(7);
  });

  const refusedAt = "connect ECONNREFUSED 127.0.0.1:1";
  const nobody = () => failing(Object.assign(new Error(refusedAt), { code: "ECONNREFUSED" }));

  test("and never answered is given up after half a minute, because a user does not watch a silent program longer", async () => {
    const disk = new Map();
    const clock = new FakeClock();
    const options = { gateway: link(scripted(nobody)), clock, random: () => 0.5, store: new DyingStore(disk) };
    let failure: unknown;
    const read = readAll(await startReliableStream(request, options, never)).catch(
      (error: unknown) => (failure = error),
    );
    const pass = async (seconds: number) => {
      for (let i = 0; i < seconds; i++) {
        await clock.advance(1000);
        await until(() => clock.sleeping > 0 || failure !== undefined);
      }
    };
    await pass(29);
    expect(failure).toBeUndefined();
    await pass(20);
    await read;
    expect(failure).toMatchObject({ code: "upstream_failed", message: expect.stringContaining(refusedAt) });
    expect(failure).toHaveProperty("hint", expect.stringContaining("millrace serve"));
    expect(disk.size).toBe(1); // it continues once a gateway answers
  });

  test("and was there once is waited for as long as the budget says", async () => {
    const server = new FakeStreamServer(plain);
    const works = openBidiTier(transportTo(server));
    const clock = new FakeClock();
    let isGone = false;
    const tier: Tier = {
      name: "bidi",
      attach: (...words) => (isGone ? nobody() : works.attach(...words)),
    };
    const shared = link(tier);
    const options = { gateway: shared, clock, random: () => 0.5, store: openMemoryRecordStore() };
    await readAll(await startReliableStream(request, options, never));
    isGone = true;
    const waiting = readAll(await startReliableStream(request, options, never));
    for (let i = 0; i < 120; i++) await clock.advance(1000);
    isGone = false;
    for (let i = 0; i < 30; i++) await clock.advance(1000);
    expect((await waiting).at(-1)).toMatchObject({ type: "end", outcome: "finished" });
  });

  test("is left alone as long as it asks for", async () => {
    const tier = scripted(() =>
      failing(new ConnectError("slow down", Code.ResourceExhausted, new Headers({ "retry-after": "7" }))),
    );
    const clock = new FakeClock();
    const words: (string | undefined)[] = [];
    const options = {
      gateway: link(tier),
      clock,
      random: () => 0,
      backoff: { baseMs: 1, capMs: 1, budget: 1 },
      onConnection: (change: ConnectionChange) => change.state === "reconnecting" && words.push(change.why),
    };
    const read = readAll(await startReliableStream(request, options, never)).catch((error: unknown) => error);
    await until(() => clock.sleeping > 0);
    await clock.advance(6999);
    await idle();
    expect(tier.attached).toHaveLength(1);
    await clock.advance(1);
    await until(() => tier.attached.length === 2);
    expect(tier.attached).toHaveLength(2);
    expect(words).toEqual(["slow down"]);
    expect(await read).toMatchObject({ code: "upstream_failed" });
  });

  test("gets its budget back when anything new arrives, and not from a welcome alone", async () => {
    const server = new FakeStreamServer([Array.from({ length: 9 }, (_, i) => says(String(i)))]);
    const options = optionsFor(server, (attach) => ({ down: attach < 4 ? 1 : 4 }));
    const policy = { baseMs: 0, capMs: 0, budget: 4 };
    const fruitless: number[] = [];
    const events = await readAll(
      await startReliableStream(
        request,
        {
          ...options,
          backoff: policy,
          onConnection: (change) => change.state === "reconnecting" && fruitless.push(change.fruitless),
        },
        never,
      ),
    );
    expect(events.at(-1)).toMatchObject({ type: "end" });
    expect(fruitless.slice(0, 4)).toEqual([1, 2, 3, 4]);
    expect(Math.max(...fruitless.slice(4))).toBe(1);
  });
});

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

describe("a log that differs from the log that was read", () => {
  /** Reads until `events` arrived, then leaves. */
  async function readSome(stream: ReliableStream, count: number): Promise<void> {
    let seen = 0;
    for await (const _ of stream.events) if (++seen > count) break;
  }

  async function meddled(meddle: (stream: ServedStream) => void | Promise<void>) {
    const server = new FakeStreamServer(plain);
    const disk = new Map<string, StreamRecord>();
    const options = { ...optionsFor(server), store: new DyingStore(disk) };
    const stream = await startReliableStream(request, options, never);
    await readSome(stream, 3);
    await meddle(server.only);
    return { server, disk, resumed: resume(stream.streamKey, options, never) };
  }
  const damaged = { code: "internal", details: { reason: "damaged_record" } };

  test("because the gateway went back in time: its tail, its count of attaches", async () => {
    for (const meddle of [
      (stream: ServedStream) => {
        stream.chunks = stream.chunks.slice(0, 1);
        stream.chains = stream.chains.slice(0, 2);
      },
      (stream: ServedStream) => {
        stream.epoch = 0;
      },
    ]) {
      const { resumed } = await meddled(meddle);
      await expect(readAll(await resumed)).rejects.toMatchObject({ code: expect.stringMatching(/internal|expired/) });
    }
  });

  test("because an event was changed, left out, added, swapped or doubled: the client notices before it delivers the event, or at the end", async () => {
    const changes: readonly ((chunks: ServerChunk[]) => ServerChunk[])[] = [
      (chunks) => chunks.filter((_, i) => i !== 4),
      (chunks) => [...chunks.slice(0, 4), ...chunks.slice(3)],
      (chunks) => [...chunks.slice(0, 4), ...chunks.slice(4, 6).reverse(), ...chunks.slice(6)],
      (chunks) =>
        chunks.map((chunk, i) =>
          i === 4 ? fromBinary(ServerChunkSchema, forge(toBinary(ServerChunkSchema, chunk))) : chunk,
        ),
    ];
    for (const change of changes) {
      const { resumed } = await meddled((stream) => {
        stream.chunks = change(stream.chunks);
      });
      const seen: StreamEvent[] = [];
      const read = (async () => {
        for await (const event of (await resumed).events) seen.push(event);
      })();
      await expect(read).rejects.toMatchObject(damaged);
      expect(seen.some(({ type }) => type === "end")).toBe(false);
    }
  });

  test.each([[["cancel"]], [["close"]], [["close", "cancel"]]] as const)(
    "because this side went back in time, though it gives as much (%j) as was lost before it learns of that: no number is used again",
    async (gives) => {
      const server = new FakeStreamServer(withTools);
      const disk = new Map<string, StreamRecord>();
      const options = { ...optionsFor(server), store: new DyingStore(disk) };
      const stream = await startReliableStream(request, options, never);
      let older: StreamRecord | undefined;
      const results: string[] = [];
      for await (const event of stream.events) {
        if (event.type !== "tool_call") continue;
        older ??= disk.get(stream.streamKey);
        results.push(event.callId);
        await stream.runTool(event, () => Promise.resolve({ text: "found" }));
        if (results.length === gives.length) break;
      }
      await until(() => server.only.accepted.length === 1 + gives.length);
      if (older !== undefined) disk.set(stream.streamKey, older); // as it was when the first call came
      const { taken } = server;
      const again = await resume(stream.streamKey, options, never);
      for (const give of gives) await again[give]();
      await expect(readAll(again)).rejects.toMatchObject({ code: "internal", details: { reason: "damaged_record" } });
      expect(server.taken).toBe(taken);
    },
  );

  test("because this side went back in time: the record is an older copy", async () => {
    const server = new FakeStreamServer(withTools);
    const disk = new Map<string, StreamRecord>();
    const options = { ...optionsFor(server), store: new DyingStore(disk) };
    const stream = await startReliableStream(request, options, never);
    const older = { ...[...disk.values()][0] } as StreamRecord;
    for await (const event of stream.events) {
      if (event.type === "tool_call") await stream.runTool(event, () => Promise.resolve({ text: "r" }));
      if (event.eventId === "a6") break;
    }
    disk.set(older.streamKey, older);
    const again = readAll(await resume(older.streamKey, options, never));
    await expect(again).rejects.toMatchObject({ code: expect.stringMatching(/internal|expired|cancelled/) });
    expect(server.only.accepted.length).toBeLessThan(4);
  });
});

describe("what was left", () => {
  async function left(server: FakeStreamServer, label = "") {
    const store = openMemoryRecordStore();
    const options = { ...optionsFor(server), store, label };
    const stream = await startReliableStream(request, options, never);
    for await (const event of stream.events) if (event.type === "text") break;
    return { store, options };
  }

  test("is continued at the next start, by one client only", async () => {
    const server = new FakeStreamServer(plain);
    const { options } = await left(server, "conversation 7");
    const found = await autoResume(options, never);
    expect(found.streams.map(({ label }) => label)).toEqual(["conversation 7"]);
    expect((await autoResume(options, never)).taken).toEqual([found.streams[0]?.streamKey]);
    const [stream] = found.streams;
    if (stream === undefined) throw new Error("nothing was found");
    expect((await readAll(stream)).at(-1)).toMatchObject({ type: "end", outcome: "finished" });
    expect(await autoResume(options, never)).toEqual({ streams: [], taken: [], cleared: [], damaged: [] });
    expect(server.prompts).toBe(1);
  });

  test("is handed out from its start when asked for", async () => {
    const server = new FakeStreamServer(plain);
    const { options } = await left(server);
    const [stream] = (await autoResume({ ...options, after: "0" }, never)).streams;
    if (stream === undefined) throw new Error("nothing was found");
    expect(ids(await readAll(stream))).toEqual(server.only.chunks.map(({ eventId }) => eventId));
  });

  test("is not continued when it was left too long ago by the gateway's clock", async () => {
    const server = new FakeStreamServer(plain);
    server.retentionMs = 100 * 3_600_000;
    const { options } = await left(server);
    const wrongClock = { ...options, clock: new FakeClock(0) }; // ours says 1970
    const [early] = (await autoResume(wrongClock, never)).streams;
    await early?.leave();
    server.nowMs += 7_300_000;
    const [stream] = (await autoResume(wrongClock, never)).streams;
    if (stream === undefined) throw new Error("nothing was found");
    await expect(readAll(stream)).rejects.toMatchObject({ code: "expired" });
    expect((await autoResume(options, never)).streams).toEqual([]);
  });

  test("is expired when the gateway no longer has it, and never asked again", async () => {
    const server = new FakeStreamServer(plain);
    const { options } = await left(server);
    server.nowMs += server.retentionMs;
    const [stream] = (await autoResume({ ...options, lookbackMs: Infinity }, never)).streams;
    if (stream === undefined) throw new Error("nothing was found");
    await expect(readAll(stream)).rejects.toMatchObject({ code: "expired" });
    expect(server.streams.size).toBe(1);
    expect((await autoResume(options, never)).streams).toEqual([]);
  });

  test("and was never sent is cleared away once it is old, and sent while it is young", async () => {
    const server = new FakeStreamServer(plain);
    const store = openMemoryRecordStore();
    const options = { ...optionsFor(server), store };
    const stream = await startReliableStream(request, options, never);
    await stream.leave();
    const later = { ...options, clock: new FakeClock(Date.now() + 7_300_000) };
    expect(await autoResume(later, never)).toMatchObject({ streams: [], cleared: [stream.streamKey] });
    const young = await startReliableStream(request, options, never);
    await young.leave();
    const [again] = (await autoResume(options, never)).streams;
    expect((await readAll(again ?? young)).at(-1)).toMatchObject({ type: "end" });
    expect(server.prompts).toBe(1);
  });

  test("stays where it is with the gates shut", async () => {
    const server = new FakeStreamServer(plain);
    const { options, store } = await left(server);
    expect((await autoResume({ ...options, gates: { autoResume: false } }, never)).streams).toEqual([]);
    const unkept = await startReliableStream(request, { ...options, gates: { persist: false } }, never);
    await unkept.leave();
    expect(await store.list()).toHaveLength(1);
  });
});

describe("an application", () => {
  test("learns that the gateway cannot resume, and that losing such a connection is final", async () => {
    const server = new FakeStreamServer(plain);
    server.degraded = true;
    const changes: ConnectionChange[] = [];
    const options = {
      ...optionsFor(server, () => ({ down: 4 })),
      onConnection: (c: ConnectionChange) => changes.push(c),
    };
    await expect(readAll(await startReliableStream(request, options, never))).rejects.toMatchObject({
      code: "degraded",
    });
    expect(changes).toMatchObject([{ state: "attached", degraded: true }]);
  });

  test("cancels durably, also without a connection", async () => {
    const server = new FakeStreamServer(withTools);
    const stream = await startReliableStream(
      request,
      optionsFor(server, (n) => (n === 0 ? { up: 1 } : undefined)),
      never,
    );
    const outcomes: string[] = [];
    for await (const event of stream.events) {
      if (event.type === "tool_call" && event.callId === "call-1") await stream.cancel();
      if (event.type === "end") outcomes.push(event.outcome);
    }
    expect(outcomes).toEqual(["cancelled"]);
    await expect(stream.cancel()).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("says that no results come, and the stream ends with the calls", async () => {
    const server = new FakeStreamServer(withTools);
    const stream = await startReliableStream(request, optionsFor(server), never);
    await stream.close();
    const events = await readAll(stream, []).catch((error: unknown) => error);
    expect(events).toEqual(expect.arrayContaining([expect.objectContaining({ type: "end", reason: "tool_calls" })]));
  });

  test("takes what it gives from an iterable, and its end as the last word", async () => {
    const server = new FakeStreamServer(withTools);
    const stream = await startReliableStream(
      request,
      optionsFor(server, (attach) => (attach < 3 ? { down: 3 } : undefined)),
      never,
    );
    const open = new Queue<StreamInput>();
    const sent = stream.send(open.read(never));
    const events: StreamEvent[] = [];
    for await (const event of stream.events) {
      events.push(event);
      if (event.type !== "tool_call") continue;
      if (event.callId === "call-2") open.put({ type: "tool_started", callId: event.callId });
      if (event.callId === "call-3") open.close();
      else open.put({ type: "tool_result", callId: event.callId, result: { text: "seen" } });
    }
    await sent;
    expect(events.at(-1)).toMatchObject({ outcome: "finished", reason: "tool_calls" });
    expect(server.only.accepted.map(({ request: { case: kind } }) => kind)).toEqual([
      "clientChunk",
      "clientChunk",
      "clientChunk",
      "close",
    ]);
  });

  test("passes on what its own iterable throws, and continues without it", async () => {
    const server = new FakeStreamServer(withTools);
    const stream = await startReliableStream(request, optionsFor(server));
    function* broken(): Generator<StreamInput> {
      yield* [];
      throw new Error("the tools are gone");
    }
    await expect(stream.send(ReadableStream.from(broken()))).rejects.toThrow("the tools are gone");
    const events = await readAll(stream);
    expect(events.at(-1)).toMatchObject({ outcome: "finished", reason: "stop" });
    await expect(stream.send(ReadableStream.from([]))).resolves.toBeUndefined();
  });

  test("must start a tool before it gives its result, and give one", async () => {
    const server = new FakeStreamServer(withTools);
    const stream = await startReliableStream(request, optionsFor(server), never);
    for await (const event of stream.events) {
      if (event.type !== "tool_call") continue;
      await expect(stream.sendToolResult(event.callId, { text: "r" })).rejects.toThrow("was not started");
      await expect(stream.sendToolResult("another", { text: "r" })).rejects.toThrow("no open tool call");
      await stream.startTool(event.callId);
      await stream.sendToolResult(event.callId, { text: "r" });
      await expect(stream.sendToolResult(event.callId, { text: "r" })).rejects.toThrow("no open tool call");
    }
    expect(server.only.accepted).toHaveLength(4);
  });

  test("leaves by its signal, which cancels nothing", async () => {
    const server = new FakeStreamServer(plain);
    server.holdFrom = 2;
    const leaving = new AbortController();
    const store = openMemoryRecordStore();
    const options = { ...optionsFor(server), store };
    const stream = await startReliableStream(request, options, leaving.signal);
    const read = (async () => {
      for await (const event of stream.events) if (event.type === "text") leaving.abort(new Error("left"));
    })();
    await expect(read).rejects.toThrow("left");
    server.holdFrom = Infinity;
    const rest = await readAll(await resume(stream.streamKey, options, never));
    expect(rest.at(-1)).toMatchObject({ type: "end", outcome: "finished" });
  });

  test("never takes an unproved end for a whole answer", async () => {
    const server = new FakeStreamServer(plain);
    let attach = 0;
    const tier = openBidiTier(transportTo(server));
    const shortened: Tier = {
      name: "bidi",
      async *attach(...words) {
        const isFirst = attach++ === 0;
        for await (const message of tier.attach(...words)) {
          yield message;
          if (isFirst && message.response.case === "serverChunk") return; // a clean end, in the middle
        }
      },
    };
    const events = await readAll(await startReliableStream(request, { ...hasty, gateway: link(shortened) }, never));
    expect(attach).toBe(2);
    expect(ids(events)).toEqual(server.only.chunks.map(({ eventId }) => eventId));
  });
});

/** Other bytes that decode: the rewritten text says something else. */
function forge(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(Buffer.from(Buffer.from(bytes).toString("latin1").replace("you", "YOU"), "latin1"));
}
