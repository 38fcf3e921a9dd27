import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { openMemoryRecordStore } from "../records/memory-record-store.ts";
import { FakeStreamServer } from "../stream-server.fake.ts";
import { autoResume, startReliableStream } from "./open-stream.ts";
import { ids, never, optionsFor, plain, readAll, request } from "./stream-world.fake.ts";

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

  test("is expired when the gateway no longer has it, and never asked again", async () => {
    const server = new FakeStreamServer(plain);
    const { options } = await left(server);
    server.nowMs += server.retentionMs;
    const [stream] = (await autoResume(options, never)).streams;
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
});
