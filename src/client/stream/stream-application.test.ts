import { describe, expect, test } from "vitest";
import { openMemoryRecordStore } from "../records/memory-record-store.ts";
import { transportTo } from "../routes.fake.ts";
import { FakeStreamServer } from "../stream-server.fake.ts";
import { openBidiTier, type Tier } from "../tiers/tier.ts";
import { resume, startReliableStream } from "./open-stream.ts";
import type { StreamInput } from "./stream.ts";
import type { StreamEvent } from "./stream-event.ts";
import type { ConnectionChange } from "./stream-options.ts";
import { hasty, ids, link, never, optionsFor, plain, readAll, request, withTools } from "./stream-world.fake.ts";

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
    const feed = Promise.withResolvers<ReadableStreamDefaultController<StreamInput>>();
    const sent = stream.send(new ReadableStream<StreamInput>({ start: feed.resolve }));
    const open = await feed.promise;
    const events: StreamEvent[] = [];
    for await (const event of stream.events) {
      events.push(event);
      if (event.type !== "tool_call") continue;
      if (event.callId === "call-2") open.enqueue({ type: "tool_started", callId: event.callId });
      if (event.callId === "call-3") open.close();
      else open.enqueue({ type: "tool_result", callId: event.callId, result: { text: "seen" } });
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
