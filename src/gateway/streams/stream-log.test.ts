import { expect, test } from "vitest";
import { startOfLog, type TurnId } from "../../base/ids.ts";
import type { TurnRecord } from "../../log/store.ts";
import type { StreamAccess } from "../../turns/attach.ts";
import { beforeFirst } from "../dialects/idempotent/event-id.ts";
import type { StreamProgress } from "./progress.ts";
import { readStored, StreamMarks } from "./stream-log.ts";

test("a stream is kept as long as the first of its ended turns, in any order", async () => {
  const expiries: Readonly<Record<string, number | undefined>> = { a: 300, b: 100, c: 200, runs: undefined };
  const reading = {
    get: async (turnId: TurnId) => {
      const expiresAtMs = expiries[turnId];
      return { ended: expiresAtMs !== undefined, expiresAtMs, lastEventId: startOfLog } as TurnRecord; // nothing else of it is read
    },
  } as unknown as StreamAccess; // as above
  const stored = async (...turns: readonly string[]) => {
    const state = { turns, unread: [], endAfter: () => undefined } as unknown as StreamProgress; // as above
    const ask = { cursor: beforeFirst, chain: undefined, marks: new StreamMarks() };
    return (await readStored(reading, state, ask, new AbortController().signal)).expiresAtMs;
  };
  expect([await stored("a", "b", "c"), await stored("a", "runs"), await stored("runs")]).toEqual([100, 300, Infinity]);
});
