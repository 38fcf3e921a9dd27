import { systemClock } from "../../src/base/clock.ts";
import type { CascadeId, ModelUid } from "../../src/base/ids.ts";
import type { TurnEventBody } from "../../src/log/event.ts";
import type { LogStore } from "../../src/log/store.ts";
import { newTurn } from "../../src/log/turn.fake.ts";

const clock = systemClock;
export const delta = "a delta of some words ";

export async function begun(store: LogStore) {
  const { record, writer } = await store.create(newTurn({ createdAtMs: clock.now() }), "bench");
  if (writer === undefined) throw new Error("the turn was there already");
  return { turnId: record.turnId, writer };
}

export async function appendOneByOne(store: LogStore, count: number): Promise<number> {
  const { writer } = await begun(store);
  const startedAt = performance.now();
  for (let i = 0; i < count; i++) await writer.append([{ type: "text", delta }], clock.now());
  return (count / (performance.now() - startedAt)) * 1_000;
}

export async function appendAtOnce(store: LogStore, turns: number, each: number): Promise<number> {
  const begunTurns = await Promise.all(Array.from({ length: turns }, () => begun(store)));
  const startedAt = performance.now();
  await Promise.all(
    begunTurns.map(async ({ writer }) => {
      for (let i = 0; i < each; i++) await writer.append([{ type: "text", delta }], clock.now());
    }),
  );
  return ((turns * each) / (performance.now() - startedAt)) * 1_000;
}

/** Whole turns, with what is flushed to the disk in each: the turn, `started`, the end. */
export async function wholeTurns(store: LogStore, turns: number): Promise<number> {
  const startedAt = performance.now();
  for (let turn = 0; turn < turns; turn++) {
    const { writer } = await begun(store);
    await writer.append([started()], clock.now());
    for (let i = 0; i < 30; i++) await writer.append([{ type: "text", delta }], clock.now());
    await writer.append([finished(delta.repeat(30))], clock.now());
  }
  return ((turns * 32) / (performance.now() - startedAt)) * 1_000;
}

export function started(): TurnEventBody {
  return { type: "started", modelUid: "m" as ModelUid, backend: "cascade", cascadeId: "c" as CascadeId }; // any text will do
}

export function finished(text: string): TurnEventBody {
  return { type: "finished", reason: { unified: "stop", raw: undefined }, text };
}
