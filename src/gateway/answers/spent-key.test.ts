import { expect, test } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import type { TurnEvent } from "../../log/event.ts";
import { eventIdOf } from "../../log/event-id.ts";
import { tellSpentKey, withSpentKey } from "./spent-key.ts";

const crash = new MillraceError("upstream_failed", "The IDE's server stopped.", { hint: "Look." }).toRecord();
const keyed = { isGiven: true, isRepeat: false };

test("a failure under a key says that the key is spent, and what to do", () => {
  expect(withSpentKey(crash, keyed).hint).toBe(
    "Look. This Idempotency-Key is spent: it only gives this failure again. Send the request with a new key, or without a key.",
  );
  const quota = new MillraceError("quota_exhausted", "No more.", { hint: "Wait." }).toRecord();
  expect(withSpentKey(quota, keyed).hint).toMatch(/with a new key, or without a key after 60 s\.$/);
});

test("a failure without a key stays unchanged", () => {
  expect(withSpentKey(crash, { isGiven: false, isRepeat: false })).toBe(crash);
});

test("a repeat under the key learns that the failure is final", () => {
  expect(withSpentKey(crash, keyed).final).toBeUndefined();
  expect(withSpentKey(crash, { isGiven: true, isRepeat: true }).final).toBe(true);
});

test("of the events of a turn only the failure changes", () => {
  const at = { eventId: eventIdOf(2), atMs: 1 };
  const text: TurnEvent = { type: "text", delta: "Hel", ...at };
  expect(tellSpentKey(text, keyed)).toBe(text);
  expect(tellSpentKey({ type: "failed", error: crash, ...at }, keyed)).toMatchObject({
    ...at,
    type: "failed",
    error: { hint: expect.stringContaining("spent") },
  });
});

test("a failure before anything was sent spends no key, and stays unchanged", () => {
  const event: TurnEvent = { type: "failed", error: crash, eventId: eventIdOf(1), atMs: 1 };
  expect(tellSpentKey(event, { isGiven: true, isRepeat: true })).toBe(event);
});
