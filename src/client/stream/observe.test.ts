import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import * as fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { StreamUnifiedChatResponseWithToolsSchema as ServerChunkSchema } from "../../proto/aiserver/v1/chat_pb.ts";
import { openLink } from "../link/gateway-link.ts";
import { openMemoryRecordStore } from "../records/memory-record-store.ts";
import { transportTo } from "../routes.fake.ts";
import { calls, FakeStreamServer, refusal, type Script, says } from "../stream-server.fake.ts";
import { type Cut, cutTier } from "../tiers/faulty-tier.fake.ts";
import { type OpenTier, openBidiTier, openPollTier, openSseTier } from "../tiers/tier.ts";
import { type ObservedCall, type ObservedEvent, observe } from "./observe.ts";
import { startReliableStream } from "./open-stream.ts";
import type { ReliableStream } from "./stream.ts";
import type { ToolCallEvent } from "./stream-event.ts";
import type { ConnectionChange, StreamOptions } from "./stream-options.ts";

const never = new AbortController().signal;
const request = { model: "any", messages: [{ role: "user", text: "Hello?" }] } as const;
const script: Script = [
  [says("Let me look. "), calls("call-1"), says("wait. ")],
  [says("Done."), says(" Really.")],
];
const tiers = [openBidiTier, openSseTier, openPollTier];

function optionsFor(
  server: FakeStreamServer,
  cutOf: (attach: number) => Cut | undefined = () => undefined,
  open: readonly OpenTier[] = [openBidiTier],
): StreamOptions {
  const transport = transportTo(server);
  const faulty = open.map((openTier) => cutTier(openTier(transport), cutOf));
  return {
    backoff: { baseMs: 0, capMs: 0, budget: 60 },
    clock: systemClock,
    gateway: openLink(faulty),
  };
}

/** A stream in the middle of its first answer, whose one call has no result yet. */
async function begun(server: FakeStreamServer, options: StreamOptions = optionsFor(server)) {
  const stream = await startReliableStream(request, options, never);
  const events = stream.events[Symbol.asyncIterator]();
  let call: ToolCallEvent | undefined;
  while (call === undefined) {
    const { value } = await events.next();
    if (value?.type === "tool_call") call = value;
  }
  const finish = async () => {
    await stream.runTool(call, () => Promise.resolve({ text: "seen" }));
    while ((await events.next()).done !== true);
  };
  return { stream, call, finish };
}

async function all(events: AsyncIterable<ObservedEvent>): Promise<ObservedEvent[]> {
  const seen: ObservedEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

const ids = (events: readonly ObservedEvent[]) => events.map(({ eventId }) => eventId);
const log = (server: FakeStreamServer) => server.only.chunks.map(({ eventId }) => eventId);

/** A stream that has ended, and its pass. */
async function ended(server: FakeStreamServer) {
  const { stream, finish } = await begun(server);
  await finish();
  return stream.pass;
}

describe("an onlooker", () => {
  test.each(tiers.map((open) => [open]))(
    "sees what was and what comes, to the end, beside the owner (%o)",
    async (open) => {
      const server = new FakeStreamServer(script);
      const { stream, finish } = await begun(server);
      const seen: ObservedEvent[] = [];
      const options = optionsFor(server, undefined, [open]);
      for await (const event of observe(stream.pass, options, never)) {
        seen.push(event);
        if (seen.length === 3) await finish();
      }
      expect(ids(seen)).toEqual(log(server));
      expect(seen.at(-1)).toMatchObject({ type: "end", outcome: "finished", reason: "stop" });
      expect(server.only.epoch).toBe(1);
      expect(server.prompts).toBe(1);
    },
  );

  test("finds the stream by its key in the store, though another process owns the record", async () => {
    const server = new FakeStreamServer(script);
    const store = openMemoryRecordStore();
    const options = { ...optionsFor(server), store };
    const { stream, finish } = await begun(server, options);
    const watching = all(observe(stream.streamKey, options, never));
    await finish();
    expect(ids(await watching)).toEqual(log(server));
    await expect(all(observe(stream.streamKey, options, never))).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("is handed each event once over any tiers that break anywhere, from any cursor", async () => {
    const server = new FakeStreamServer(script);
    const pass = await ended(server);
    const cuts = fc.array(fc.record({ down: fc.nat(6) }), { maxLength: 12 });
    const order = fc.shuffledSubarray(tiers, { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(cuts, order, fc.nat(log(server).length), async (broken, open, from) => {
        let attach = 0;
        const options = optionsFor(server, () => broken[attach++], open);
        const after = ["0", ...log(server)][from] ?? "0";
        const seen = await all(observe(pass, { ...options, after }, never));
        expect(ids(seen)).toEqual(log(server).slice(from));
      }),
      { numRuns: 40 },
    );
    expect(server.only.epoch).toBe(1);
  });

  test("ends with what there is now, where it does not follow", async () => {
    const server = new FakeStreamServer(script);
    const { stream, finish } = await begun(server);
    const options = { ...optionsFor(server), follow: false };
    const now = log(server);
    expect(ids(await all(observe(stream.pass, options, never)))).toEqual(now);
    expect(await all(observe(stream.pass, { ...options, after: now.at(-1) ?? "" }, never))).toEqual([]);
    await finish();
    expect(ids(await all(observe(stream.pass, options, never)))).toEqual(log(server));
    expect(now.length).toBeLessThan(log(server).length);
  });

  test("sees calls, and cannot answer them", async () => {
    const server = new FakeStreamServer(script);
    const [call] = (await all(observe(await ended(server), optionsFor(server), never))).filter(
      (event) => event.type === "tool_call",
    );
    expect(call).toEqual({ type: "tool_call", callId: "call-1", name: "look", arguments: "{}", eventId: "a2" });
    expectTypeOf<ObservedCall>().not.toExtend<Parameters<ReliableStream["runTool"]>[0]>();
  });

  test("leaves with its signal, or with its loop, and takes nothing along", async () => {
    const server = new FakeStreamServer(script);
    const { stream, finish } = await begun(server);
    const leave = new AbortController();
    const seen: ObservedEvent[] = [];
    const watching = (async () => {
      for await (const event of observe(stream.pass, optionsFor(server), leave.signal)) {
        seen.push(event);
        if (seen.length === 3) leave.abort(new Error("enough"));
      }
    })();
    await expect(watching).rejects.toThrow("enough");
    for await (const event of observe(stream.pass, optionsFor(server), never)) if (event.type === "text") break;
    await finish();
    expect(server.only.epoch).toBe(1);
    await expect(all(observe(stream.pass, optionsFor(server), AbortSignal.abort(new Error("no"))))).rejects.toThrow(
      "no",
    );
  });

  test("says how the connection is, and continues while the gateway is away", async () => {
    const server = new FakeStreamServer(script);
    const pass = await ended(server);
    const told: ConnectionChange["state"][] = [];
    const options = optionsFor(server, (attach) => (attach < 4 ? { down: attach } : undefined));
    await all(observe(pass, { ...options, onConnection: ({ state }) => told.push(state) }, never));
    expect(told.filter((state) => state === "attached").length).toBeGreaterThan(1);
    expect(told[0]).toBe("reconnecting");
  });
});

describe("what an observer cannot see is an error", () => {
  test("a stream that the gateway does not know, under this key or any more, is expired", async () => {
    const server = new FakeStreamServer(script);
    const pass = await ended(server);
    const other = { ...pass, encryptionKey: "A".repeat(43) };
    await expect(all(observe(other, optionsFor(server), never))).rejects.toMatchObject({ code: "expired" });
    server.nowMs += server.retentionMs + 1;
    await expect(all(observe(pass, optionsFor(server), never))).rejects.toMatchObject({ code: "expired" });
  });

  test("a gateway that stays away ends it with what to do", async () => {
    const server = new FakeStreamServer(script);
    const pass = await ended(server);
    const options = optionsFor(server, () => ({ down: 0 }));
    await expect(all(observe(pass, options, never))).rejects.toMatchObject({ code: "upstream_failed" });
  });

  test("a degraded stream ends with its connection", async () => {
    const server = new FakeStreamServer(script);
    const pass = await ended(server);
    server.degraded = true;
    const options = optionsFor(server, () => ({ down: 3 }));
    await expect(all(observe(pass, options, never))).rejects.toMatchObject({ code: "degraded" });
  });

  test("the gateway's refusal is passed on", async () => {
    const server = new FakeStreamServer(script);
    const pass = await ended(server);
    function* refused(): Generator<never> {
      yield* [];
      throw refusal("too_many_streams", "rate_limited", Code.ResourceExhausted);
    }
    const link = openLink([
      {
        name: "bidi",
        attach: () => ReadableStream.from(refused()),
      },
    ]);
    const options = { ...optionsFor(server), gateway: link };
    await expect(all(observe(pass, options, never))).rejects.toMatchObject({
      code: "rate_limited",
      details: { reason: "too_many_streams" },
    });
  });

  test("an event that was changed, left out, added or swapped shows before the end is handed out", async () => {
    const pristine = new FakeStreamServer(script);
    const pass = await ended(pristine);
    const { chunks } = pristine.only;
    const [first, second] = chunks;
    if (first === undefined || second === undefined) throw new Error("it has events");
    const meddled = [
      chunks.with(1, create(ServerChunkSchema, { ...says("Other."), eventId: "a2" })),
      chunks.toSpliced(2, 1),
      chunks.toSpliced(2, 0, create(ServerChunkSchema, { ...says("More."), eventId: "a2m" })),
      chunks.with(0, second).with(1, first),
      [...chunks.slice(0, 2), ...chunks.slice(1)],
    ];
    for (const other of meddled) {
      pristine.only.chunks = other;
      const seen: ObservedEvent[] = [];
      const watching = (async () => {
        for await (const event of observe(pass, optionsFor(pristine), never)) seen.push(event);
      })();
      await expect(watching).rejects.toMatchObject({ code: "internal", details: { reason: "diverged" } });
      expect(seen.some(({ type }) => type === "end")).toBe(false);
    }
  });

  test("a gateway that was put back to an older copy shows at the next attach", async () => {
    const server = new FakeStreamServer(script);
    const pass = await ended(server);
    const { chunks, chains } = server.only;
    let attach = 0;
    const options = optionsFor(server, () => {
      if (attach++ === 0) return { down: 6 };
      server.only.chunks = chunks.slice(0, 2);
      server.only.chains = chains.slice(0, 3);
      return undefined;
    });
    await expect(all(observe(pass, options, never))).rejects.toMatchObject({
      code: expect.stringMatching(/internal|expired/),
    });
  });
});
