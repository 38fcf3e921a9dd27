import { describe, expect, test } from "vitest";
import { startOfLog, type TurnId } from "../base/ids.ts";
import type { TurnLabel } from "../log/store.ts";
import { asking } from "./turns.fake.ts";
import { endsInAwaitedResults, implicitTwin, type Twin, twinsBeingRead } from "./twins.ts";

/** An earlier turn of session `s`: running, without a reader. */
function twin({ beingRead = false, ...record }: Partial<TurnLabel> & { readonly beingRead?: boolean } = {}): Twin {
  const running: TurnLabel = {
    ...asking({ session: "s" }),
    messageCount: 1,
    turnId: "turn-1" as TurnId, // any text will do
    createdAtMs: 0,
    graceMs: 120_000,
    ended: false,
    outcome: undefined,
    delivered: false,
    cancelRequested: undefined,
    owner: "owner-1",
    degraded: false,
    lastEventId: startOfLog,
    attachedAtMs: 0,
    expiresAtMs: 0,
  };
  return { record: { ...running, ...record }, beingRead };
}

const finished = { ended: true, outcome: "finished" } as const;

describe("a repeated request without a key", () => {
  test.each([
    ["runs without a reader", twin()],
    ["finished while its reader was gone", twin(finished)],
  ])("joins the turn that %s, whether or not it says that it is a repetition", (_, earlier) => {
    for (const retry of [undefined, true])
      expect(implicitTwin({ session: "s", ...(retry && { retry }) }, [earlier])).toBe(earlier.record);
  });

  test.each([
    ["somebody reads", twin({ beingRead: true })],
    ["gave its client what that asked for", twin({ delivered: true })],
  ])("joins a running turn that %s only if it says that it is a repetition", (_, earlier) => {
    expect(implicitTwin({ session: "s" }, [earlier])).toBeUndefined();
    expect(implicitTwin({ session: "s", retry: true }, [earlier])).toBe(earlier.record);
  });

  test.each([
    ["was delivered whole", twin({ ...finished, delivered: true })],
    ["finished while its reader is still there", twin({ ...finished, beingRead: true })],
    ["failed", twin({ ended: true, outcome: "failed" })],
    ["was cancelled", twin({ ended: true, outcome: "cancelled" })],
    ["is to be cancelled", twin({ cancelRequested: "client" })],
    ["has a key", twin({ idempotencyKey: "key" })],
    ["is of another session", twin({ session: "t" })],
    ["is of no session", twin({ session: undefined })],
  ])("never joins a turn that %s", (_, earlier) => {
    for (const retry of [undefined, true])
      expect(implicitTwin({ session: "s", ...(retry && { retry }) }, [earlier])).toBeUndefined();
  });

  test("joins the newest turn that it may join", () => {
    const [newest, older] = [twin(), twin({ turnId: "turn-0" as TurnId })];
    expect(implicitTwin({ session: "s" }, [twin({ ...finished, delivered: true }), newest, older])).toBe(newest.record);
  });
});

test("a repeated request waits for the readers of those turns only that it would join without them", () => {
  const waited = twin({ beingRead: true });
  const others = [
    twin(),
    twin({ beingRead: true, delivered: true }),
    twin({ beingRead: true, session: "t" }),
    twin({ ...finished, beingRead: true }),
  ];
  expect(twinsBeingRead({ session: "s" }, [waited, ...others])).toEqual([waited.record]);
});

test("a request that ends with results that an agent waits for can only be a repetition of an equal one", () => {
  const result = (callId: string) => ({ role: "tool", callId, isError: false, parts: [] }) as const;
  const asked = { role: "user", parts: [] } as const;
  const awaited = `call_${"0a".repeat(12)}`;
  expect(endsInAwaitedResults({ messages: [asked, result(awaited)] })).toBe(true);
  expect(endsInAwaitedResults({ messages: [asked, result("call_01k_1")] })).toBe(false); // taught in prose
  expect(endsInAwaitedResults({ messages: [result(awaited), asked] })).toBe(false);
  expect(endsInAwaitedResults({ messages: [asked] })).toBe(false);
});
