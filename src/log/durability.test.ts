import { expect, test, vi } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { type CascadeId, type ModelUid } from "../base/ids.ts";
import type { TurnEventBody } from "./event.ts";
import { openLog } from "./live.ts";
import { finished, gatewayKey, now, text } from "./live-log.fake.ts";
import { openSqliteRows } from "./sqlite.ts";
import { newTurn } from "./turn.fake.ts";

const started: TurnEventBody = {
  type: "started",
  modelUid: "m" as ModelUid, // a made-up id
  backend: "cascade",
  cascadeId: "c" as CascadeId, // a made-up id
};

test("what a power cut may not take back is on the disk before it is answered, and nothing else costs a flush", async () => {
  const rows = await openSqliteRows({ path: ":memory:" });
  const commit = vi.spyOn(rows, "commit");
  const clock = new FakeClock();
  const abilities = { survivesRestart: true, isShared: false };
  const log = await openLog({ open: async () => ({ rows, gatewayKey }), abilities, clock });
  const flushes = async (work: () => Promise<unknown>) => {
    commit.mockClear();
    await work();
    return commit.mock.calls.map(([, flush]) => flush);
  };
  const turn = newTurn();
  const { turnId } = turn;
  const { writer } = await log.create(turn, "owner-1");
  const name = { caller: "caller-1", name: "stream", clientKey: undefined };
  const stream = await log.attachStream(name, "create");
  const payload = new Uint8Array(1);
  const found: Record<string, readonly boolean[]> = {};
  for (const [step, work] of Object.entries({
    "a turn begins": () => log.create(newTurn(), "owner-1"),
    "a turn begins, and its first event is about to follow": () => log.create(newTurn(), "owner-1", { flush: false }),
    "its prompt may be sent": () => writer?.append([started], now),
    "a part of the answer": () => writer?.append([text("a")], now),
    "a reader is there": () => log.noteReader(turnId, clock.now() + 10_000),
    "a reader asks for a longer grace time": () => log.noteReader(turnId, clock.now(), 600_000),
    "a cancel": () => log.requestCancel(turnId, "client"),
    "the end": () => writer?.append([finished], now),
    "the answer was delivered": () => log.noteDelivered(turnId),
    "a turn is removed": () => log.remove(turnId),
    "a stream begins": () => log.attachStream({ ...name, name: "another" }, "create"),
    "a message": () => log.admit(stream, { seqno: 0, payload }),
    "a message starts a turn": () => log.admit(stream, { seqno: 1, payload }, { turn: newTurn(), owner: "owner-1" }),
    "a client attaches again": () => log.attachStream(name, "resume", stream.nextTicket),
  }))
    found[step] = await flushes(async () => work());
  expect(found).toEqual({
    "a turn begins": [true],
    "a turn begins, and its first event is about to follow": [false],
    "its prompt may be sent": [true],
    "a part of the answer": [false],
    "a reader is there": [false],
    "a reader asks for a longer grace time": [true],
    "a cancel": [true],
    "the end": [true],
    "the answer was delivered": [false],
    "a turn is removed": [true],
    "a stream begins": [true],
    "a message": [true],
    "a message starts a turn": [true],
    "a client attaches again": [true],
  });
  await log.close();
});

test("a claim is on the disk before its gateway goes on with the turn", async () => {
  const rows = await openSqliteRows({ path: ":memory:" });
  const abilities = { survivesRestart: true, isShared: false };
  const opened = { open: async () => ({ rows, gatewayKey }), abilities, clock: new FakeClock() };
  const [before, after] = [await openLog(opened), await openLog(opened)];
  const turn = newTurn();
  await before.create(turn, "owner-1");
  const commit = vi.spyOn(rows, "commit");
  await after.claim(turn.turnId, "owner-2");
  expect(commit.mock.calls.map(([, flush]) => flush)).toEqual([true]);
  await after.close();
});
