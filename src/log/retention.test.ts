import * as fc from "fast-check";
import { expect, test } from "vitest";
import { startOfLog, type TurnId } from "../base/ids.ts";
import type { TurnEventBody } from "./event.ts";
import { openMemoryLog } from "./live.ts";
import { expiryOf, type LogStore } from "./store.ts";
import { newTurn, SettableClock } from "./turn.fake.ts";

const minuteMs = 60_000;
const finished: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "" };

test("expiry moves with each attach and stops at the cap, for any order of attaches", () => {
  const retention = { windowMs: 15 * minuteMs, capMs: 120 * minuteMs, tombstoneMs: 0 };
  expect(expiryOf(0, 0, retention)).toBe(15 * minuteMs);
  expect(expiryOf(0, 100 * minuteMs, retention)).toBe(115 * minuteMs);
  expect(expiryOf(0, 119 * minuteMs, retention)).toBe(120 * minuteMs);
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.nat(), (ended, one, other) => {
      const [first, second] = [Math.min(one, other), Math.max(one, other)];
      expect(expiryOf(ended, second, retention)).toBeGreaterThanOrEqual(expiryOf(ended, first, retention));
      expect(expiryOf(ended, second, retention)).toBeLessThanOrEqual(ended + retention.capMs);
    }),
  );
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
        else if ("sweep" in next) await store.sweep(clock.now());
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
    { numRuns: 200 },
  );
  expect(expiries).toBeGreaterThan(0);
});
