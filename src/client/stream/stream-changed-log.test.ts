import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { until } from "../../base/wait.fake.ts";
import {
  type StreamUnifiedChatResponseWithTools as ServerChunk,
  StreamUnifiedChatResponseWithToolsSchema as ServerChunkSchema,
} from "../../proto/aiserver/v1/chat_pb.ts";
import type { StreamRecord } from "../records/record.ts";
import { DyingStore } from "../records/record-store.fake.ts";
import { FakeStreamServer, type ServedStream } from "../stream-server.fake.ts";
import { resume, startReliableStream } from "./open-stream.ts";
import type { ReliableStream } from "./stream.ts";
import type { StreamEvent } from "./stream-event.ts";
import { forge, never, optionsFor, plain, readAll, request, withTools } from "./stream-world.fake.ts";

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
