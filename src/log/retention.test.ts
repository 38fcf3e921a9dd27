import * as fc from "fast-check";
import { expect, test } from "vitest";
import { startOfLog, type TurnId } from "../base/ids.ts";
import type { TurnEventBody } from "./event.ts";
import { openMemoryLog } from "./live.ts";
import type { LogStore } from "./store.ts";
import { newTurn, SettableClock } from "./turn.fake.ts";

const minuteMs = 60_000;
const finished: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "" };

test("an answer is kept for its time after its end, read or not", async () => {
  const clock = new SettableClock(1_000 * minuteMs);
  const store = await openMemoryLog({ clock, retention: { keptMs: 15 * minuteMs, tombstoneMs: minuteMs } });
  const { record, writer } = await store.create(newTurn({}), "o");
  await writer?.append([finished], clock.now());
  const expiresAtMs = clock.now() + 15 * minuteMs;
  for (let at = 0; at < 14; at++) {
    clock.move(minuteMs);
    await store.noteReader(record.turnId, clock.now(), 60 * minuteMs);
    expect(await store.get(record.turnId)).toMatchObject({ expiresAtMs });
  }
  clock.move(minuteMs);
  await expect(store.get(record.turnId)).rejects.toMatchObject({ code: "expired" });
  await store.close();
});

const deeds: Readonly<Record<string, (store: LogStore, turnId: TurnId, clock: SettableClock) => Promise<unknown>>> = {
  get: (store, turnId) => store.get(turnId),
  read: (store, turnId) => store.readAfter(turnId, startOfLog, { limit: 9 }),
  attach: (store, turnId, clock) => store.noteReader(turnId, clock.now()),
  cancel: (store, turnId) => store.requestCancel(turnId, "client"),
  again: (store) => store.create(newTurn({ idempotencyKey: "k", fingerprint: "f" }), "o"),
};

test("what has expired stays expired for every request and every clock, until its tombstone is gone (P10)", async () => {
  const step = fc.oneof(
    fc.record({ move: fc.integer({ min: -30, max: 45 }) }),
    fc.record({ deed: fc.constantFrom(...Object.keys(deeds)) }),
    fc.constant({ sweep: true }),
  );
  let expiries = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const clock = new SettableClock(1_000 * minuteMs);
      const store = await openMemoryLog({ clock });
      const { record, writer } = await store.create(newTurn({ idempotencyKey: "k", fingerprint: "f" }), "o");
      await writer?.append([finished], clock.now());
      const outcomes: (string | undefined)[] = [];
      for (const next of steps) {
        if ("move" in next) clock.move(next.move * minuteMs);
        else if ("sweep" in next) await store.sweep();
        else {
          const outcome = await deeds[next.deed]?.(store, record.turnId, clock).then(
            () => "kept",
            (error: { code?: string }) => error.code,
          );
          outcomes.push(outcome);
        }
      }
      const first = outcomes.indexOf("expired");
      const since = first < 0 ? [] : outcomes.slice(first);
      expect(since).toEqual(since.map(() => "expired"));
      expiries += since.length > 1 ? 1 : 0;
      await store.close();
    }),
    { numRuns: 60 },
  );
  expect(expiries).toBeGreaterThan(0);
});
