import { expect, test } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { Secret } from "../base/secret.ts";
import { openLog } from "./live.ts";
import { inMemory, memoryRows, testKey } from "./memory-log.fake.ts";
import type { Row, Rows } from "./rows.ts";
import { newTurn } from "./turn.fake.ts";

const clientKey = new Secret(Buffer.alloc(32, 7).toString("base64url"));
const text = (delta: string) => ({ type: "text", delta }) as const;
const finished = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "ab" } as const;

/** Two processes over one medium, of which the second one's reads of requests and entries are counted. */
async function twoLogs() {
  const clock = new FakeClock();
  const rows = await memoryRows();
  const read = { heads: 0, entries: 0 };
  let change = (row: Row) => row;
  const watched: Rows = {
    abilities: rows.abilities,
    commit: (ops, flush) => rows.commit(ops, flush),
    async get(id, withHead) {
      if (withHead === true) read.heads++;
      const row = await rows.get(id, withHead);
      return row && change(row);
    },
    find: async (filter) => (await rows.find(filter)).map(change),
    entries(id, after, most) {
      read.entries++;
      return rows.entries(id, after, most);
    },
    changed: (id, signal) => rows.changed(id, signal),
    sweep: (nowMs, kinds) => rows.sweep(nowMs, kinds),
    close: async () => {},
  };
  const open = (over: Rows) =>
    openLog({ open: async () => ({ rows: over, gatewayKey: testKey }), abilities: inMemory, clock });
  const [one, two] = [await open(rows), await open(watched)];
  return { clock, one, two, read, rows, changing: (how: typeof change) => (change = how) };
}

test("lists, labels and the looks of a start open no request and read no log, also of turns that clients sealed", async () => {
  const { clock, one, two, read } = await twoLogs();
  for (const sealing of [{}, { clientKey }]) {
    const ended = await one.create(newTurn({ session: "s", fingerprint: "f" }), "gone", sealing);
    await ended.writer?.append([text("a"), text("b"), finished], clock.now());
    await one.create(newTurn({ graceMs: 5_000 }), "gone", sealing);
  }
  const listed = await two.list({ limit: 1_000 });
  expect(listed.map(({ ended, outline }) => [ended, outline?.length])).toEqual([
    [false, undefined],
    [true, 2],
    [false, undefined],
    [true, 2],
  ]);
  expect(await two.listRunning()).toMatchObject([
    { graceMs: 5_000, sealed: true },
    { graceMs: 5_000, messageCount: 1 },
  ]);
  for (const { turnId } of listed) await two.getLabel(turnId);
  expect(await two.list({ caller: "caller-1", fingerprint: "f", limit: 8 })).toHaveLength(2);
  expect(await two.oldestRunningMs()).toBeLessThan(Infinity);
  expect(read).toEqual({ heads: 0, entries: 0 });
});

test("a second look at a client's stream reads only the messages that came since", async () => {
  const { one, two, read } = await twoLogs();
  const name = { caller: "caller-1", name: "00000000-0000-4000-8000-000000000000", clientKey };
  const attached = await one.attachStream(name, "create");
  const admit = (seqno: number) => one.admit(attached, { seqno, payload: Buffer.from(`m${seqno}`) });
  const look = async () => (await two.attachStream(name, "observe")).accepted.map(({ payload }) => String(payload));
  await admit(0);
  await admit(1);
  expect(await look()).toEqual(["m0", "m1"]);
  const before = read.entries;
  expect(await look()).toEqual(["m0", "m1"]);
  expect(read.entries).toBe(before);
  await admit(2);
  expect(await look()).toEqual(["m0", "m1", "m2"]);
});

test("an answer that another process goes on with is whole in its outline", async () => {
  const { clock, one, two } = await twoLogs();
  const { record, writer } = await one.create(newTurn(), "gone");
  const atMs = clock.now();
  await writer?.append([text("abc")], atMs);
  const claimed = await two.claim(record.turnId, "next");
  await claimed?.readAll();
  await claimed?.writer.append([text("de"), finished], atMs + 1);
  expect(await one.getLabel(record.turnId)).toMatchObject({
    outline: [
      { type: "text", characters: 5, eventId: "a1", atMs },
      { type: "finished", eventId: "a3-2" },
    ],
  });
});

test("a label of another turn, a changed one and none are not shown, and the key of such a turn starts nothing new", async () => {
  const { one, two, changing, rows } = await twoLogs();
  const { record } = await one.create(newTurn({ idempotencyKey: "k" }), "o");
  const other = await one.create(newTurn({ caller: "caller-2" }), "o");
  const foreign = (await rows.get(other.record.turnId))?.meta["label"];
  const own = String((await rows.get(record.turnId))?.meta["label"]);
  for (const label of [foreign, `${own.slice(0, -4)}AAAA`, "", undefined]) {
    changing((row) => (row.id === record.turnId ? { ...row, meta: { ...row.meta, label } } : row));
    expect((await two.list({ limit: 9 })).map(({ turnId }) => turnId)).toEqual([other.record.turnId]);
    await expect(two.list({ caller: "caller-1", idempotencyKey: "k", limit: 1 })).rejects.toMatchObject({
      code: "internal",
    });
  }
});
