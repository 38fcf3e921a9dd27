import { expect, test } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { MillraceError } from "../base/errors.ts";
import { startOfLog } from "../base/ids.ts";
import { openLog } from "./live.ts";
import { emptyRow } from "./medium.ts";
import { inMemory, memoryRows, testKey } from "./memory-log.fake.ts";
import type { Op, Rows } from "./rows.ts";
import { newTurn, plainRequest } from "./turn.fake.ts";

const megabyte = 1024 * 1024;
const minuteMs = 60_000;
const finished = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "ab" } as const;

const image = (length: number) =>
  ({ type: "image", mimeType: "image/png", base64: "iVBORw0KGgo/".repeat(length / 12) }) as const;
const large = {
  ...plainRequest,
  messages: [
    {
      role: "user",
      parts: [
        { type: "text", text: `a${"😀".repeat(megabyte)}` }, // a part would end inside of a character
        { type: "text", text: `${"half \ud83d of one ".repeat(10_000)}\u2028` },
        image(2.4 * megabyte),
        image(1200),
        image(3 * megabyte),
      ],
    },
    {
      role: "assistant",
      parts: [],
      toolCalls: [{ callId: "1", name: "f", arguments: `{"a":"${"x".repeat(megabyte)}"}`, kind: "function" }],
    },
  ],
} as const;
const plain = {
  ...plainRequest,
  messages: Array.from(
    { length: 3_000 },
    () => ({ role: "user", parts: [{ type: "text", text: "words ".repeat(170) }] }) as const,
  ),
};

const bytesOf = (op: Op) =>
  op.type === "insert"
    ? op.head.length
    : op.type === "update"
      ? (op.entries ?? []).reduce((sum, { length }) => sum + length, 0)
      : 0;

/** Two processes over one medium. The first one's commits are counted, and fail from the given one on. */
async function twoLogs() {
  const clock = new FakeClock();
  const rows = await memoryRows();
  const commits: number[] = [];
  const reads: number[] = [];
  const state = { failsFrom: Infinity };
  const watched: Rows = {
    ...rows,
    abilities: rows.abilities,
    async commit(ops, flush) {
      if (commits.length >= state.failsFrom) throw new MillraceError("degraded", "full");
      commits.push(ops.reduce((sum, op) => sum + bytesOf(op), 0));
      return rows.commit(ops, flush);
    },
    get: (id, withHead) => rows.get(id, withHead),
    find: (filter) => rows.find(filter),
    async entries(id, after, most) {
      const page = await rows.entries(id, after, most);
      reads.push(page.reduce((sum, { bytes }) => sum + bytes.length, 0));
      return page;
    },
    changed: (id, signal) => rows.changed(id, signal),
    sweep: (nowMs, kinds) => rows.sweep(nowMs, kinds),
    close: async () => {},
  };
  const open = () =>
    openLog({ open: async () => ({ rows: watched, gatewayKey: testKey }), abilities: inMemory, clock });
  const kept = async () =>
    (await Promise.all((["turn", "parts", "tombstone"] as const).map((kind) => rows.find({ kind, limit: 100 })))).map(
      ({ length }) => length,
    );
  const streams = async () => (await rows.find({ kind: "stream", limit: 100 })).length;
  return { clock, rows, commits, reads, state, kept, streams, one: await open(), two: await open() };
}

test.each([
  ["with images and long texts", large],
  ["of many messages", plain],
])("a request %s is stored and read a megabyte at a time, and is the same", async (_, request) => {
  const { one, two, commits, reads, clock } = await twoLogs();
  const created = await one.create(newTurn({ request, idempotencyKey: "k" }), "home/1");
  expect(commits.length).toBeGreaterThan(3);
  expect(Math.max(...commits)).toBeLessThan(2.1 * megabyte);
  const { turnId } = created.record;
  expect((await two.get(turnId))?.request).toEqual(request);
  expect((await two.create(newTurn({ idempotencyKey: "k" }), "home/2")).record.request).toEqual(request);
  const claimed = await two.claim(turnId, "home/2");
  expect(claimed?.record.request).toEqual(request);
  await claimed?.writer.append([finished], clock.now());
  expect(Math.max(...reads)).toBeLessThan(2.1 * megabyte);
});

test("a request of which the last part was not stored is none: its key is free, and a sweep removes its parts", async () => {
  const { one, two, state, kept, clock } = await twoLogs();
  state.failsFrom = 3;
  await expect(one.create(newTurn({ request: large, idempotencyKey: "k" }), "home/1")).rejects.toThrow(
    "cannot be stored",
  );
  expect(await kept()).toEqual([0, 1, 0]);
  expect(await two.list({ limit: 10 })).toEqual([]);
  state.failsFrom = Infinity;
  const again = await two.create(newTurn({ request: large, idempotencyKey: "k" }), "home/2");
  expect(again.writer).toBeDefined();
  await two.sweep();
  expect(await kept()).toEqual([1, 2, 0]);
  await clock.advance(15 * minuteMs);
  await two.sweep();
  expect(await kept()).toEqual([1, 1, 0]);
  expect((await one.get(again.record.turnId))?.request).toEqual(large);
});

test("the parts of a request stay as long as its turn, and go with it", async () => {
  const { one, two, kept, clock } = await twoLogs();
  const [running, removed] = [
    await one.create(newTurn({ request: large }), "home/1"),
    await one.create(newTurn({ request: plain }), "home/1"),
  ];
  await one.remove(removed.record.turnId);
  expect(await kept()).toEqual([1, 1, 0]);
  for (let day = 0; day < 9; day++) {
    await clock.advance(24 * 60 * minuteMs);
    await one.sweep();
  }
  expect((await two.get(running.record.turnId))?.request).toEqual(large);
  await running.writer?.append([finished], clock.now());
  await clock.advance(24 * 60 * minuteMs + 1);
  await one.sweep();
  expect(await kept()).toEqual([0, 0, 1]);
});

test("the text of a long answer's end is stored and read a megabyte at a time, and goes with its turn", async () => {
  const { one, two, commits, reads, kept, clock } = await twoLogs();
  const { record, writer } = await one.create(newTurn(), "home/1");
  const whole = `a${"😀".repeat(2 * megabyte)}`;
  const end = { ...finished, text: whole };
  await writer?.append([{ type: "text", delta: "a" }, end], clock.now());
  expect(Math.max(...commits)).toBeLessThan(2.1 * megabyte);
  expect(await kept()).toEqual([1, 1, 0]);
  const { events, ended } = await two.readAfter(record.turnId, startOfLog, { limit: 9 });
  expect([events, ended]).toEqual([[expect.objectContaining({ delta: "a" }), expect.objectContaining(end)], true]);
  expect(Math.max(...reads)).toBeLessThan(2.1 * megabyte);
  expect((await two.get(record.turnId))?.request).toEqual(plainRequest);
  await one.remove(record.turnId);
  expect(await kept()).toEqual([0, 0, 0]);
});

test("a long end whose parts were not all stored goes on in memory, and is whole in the store later", async () => {
  const { one, two, commits, state, clock } = await twoLogs();
  const { record, writer } = await one.create(newTurn(), "home/1");
  const end = { ...finished, text: "words ".repeat(megabyte) };
  state.failsFrom = commits.length + 3;
  await writer?.append([end], clock.now());
  expect((await one.get(record.turnId))?.degraded).toBe(true);
  expect((await two.readAfter(record.turnId, startOfLog, { limit: 9 })).events).toEqual([]);
  state.failsFrom = Infinity;
  await clock.advance(1_000);
  await expect.poll(async () => (await one.get(record.turnId))?.degraded).toBe(false);
  const [read] = (await two.readAfter(record.turnId, startOfLog, { limit: 9 })).events;
  expect(read?.type === "finished" && read.text === end.text).toBe(true);
});

const streamName = { caller: "c", name: "s", clientKey: undefined };
const message = { seqno: 0, payload: Buffer.alloc(5 * megabyte, "a message ") };

test("a large message of a stream is stored and read a megabyte at a time, and its parts go with the stream", async () => {
  const { one, two, commits, reads, kept, streams, clock } = await twoLogs();
  const stream = await one.attachStream(streamName, "create");
  expect(await one.admit(stream, message, { turn: newTurn({ request: large }), owner: "home/1" })).toMatchObject({
    outcome: "admitted",
  });
  expect(Math.max(...commits)).toBeLessThan(2.1 * megabyte);
  expect(await one.admit(stream, message)).toEqual({ outcome: "repeated" });
  expect(await kept()).toEqual([1, 2, 0]);
  for (let hour = 0; hour < 5; hour++) {
    await two.attachStream(streamName, "observe");
    await one.admit(stream, { seqno: hour + 1, payload: Buffer.from("more") });
    await clock.advance(60 * minuteMs);
    await two.sweep();
  }
  const { accepted } = await two.attachStream(streamName, "observe");
  expect(message.payload.equals(accepted[0]?.payload ?? Buffer.alloc(0))).toBe(true);
  expect(Math.max(...reads)).toBeLessThan(2.1 * megabyte);
  await clock.advance(2 * 60 * minuteMs);
  await two.sweep();
  expect([await streams(), (await kept())[1]]).toEqual([0, 1]); // those of the turn's request, which still runs
});

test("a large message of which the last part was not stored is none; sent again it is whole, and a sweep removes the first parts", async () => {
  const { one, two, commits, state, kept, clock } = await twoLogs();
  const stream = await one.attachStream(streamName, "create");
  state.failsFrom = commits.length + 3;
  await expect(one.admit(stream, message)).rejects.toMatchObject({ code: "degraded" });
  state.failsFrom = Infinity;
  const again = await two.attachStream(streamName, "create");
  expect(again.accepted).toEqual([]);
  expect(await one.admit(stream, message)).toEqual({ outcome: "fenced" });
  expect(await two.admit(again, message)).toMatchObject({ outcome: "admitted" });
  expect(await kept()).toEqual([0, 2, 0]);
  await clock.advance(15 * minuteMs);
  await two.sweep();
  expect(await kept()).toEqual([0, 1, 0]);
  const { accepted } = await two.attachStream(streamName, "observe");
  expect(message.payload.equals(accepted[0]?.payload ?? Buffer.alloc(0))).toBe(true);
});

test.each([63, 64, 65, 129])(
  "one sweep removes %i rows of parts whose turns were never stored, and no other",
  async (orphans) => {
    const { one, rows, kept, clock } = await twoLogs();
    const stored = Array.from({ length: 65 }, (_, i) => `request:turn_${i}`);
    const turns = stored.map((id) => insertOf(id.slice("request:".length), "turn", undefined));
    const left = Array.from({ length: orphans }, (_, i) => `end:none_${i}`);
    const parts = [...stored, ...left].map((id) => insertOf(id, "parts", clock.now()));
    await rows.commit([...turns, ...parts], true);
    await one.sweep();
    expect((await rows.find({ kind: "parts", limit: 1_000 })).map(({ id }) => id).sort()).toEqual(stored.sort());
    expect((await kept())[0]).toBe(65);
  },
);

function insertOf(id: string, kind: "turn" | "parts", expiresAtMs: number | undefined): Op {
  return { type: "insert", row: { ...emptyRow, id, kind, expiresAtMs }, head: new Uint8Array(0) };
}
