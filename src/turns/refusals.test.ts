import { describe, expect, test } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { type ErrorCode, MillraceError, type MillraceErrorOptions } from "../base/errors.ts";
import { type ModelUid, startOfLog, type TurnId } from "../base/ids.ts";
import { openMemoryLog } from "../log/memory-log.fake.ts";
import type { LogStore } from "../log/store.ts";
import type { ModelLimit } from "./refusals.ts";
import { asking, durable, FakeReader, fakeTurns } from "./turns.fake.ts";

const soon = new AbortController().signal;

/** Turns whose first answer was a refusal. */
async function refused(
  code: ErrorCode,
  options: MillraceErrorOptions = {},
  overrides: Parameters<typeof fakeTurns>[0] = {},
  refusedModel = "some-model",
) {
  const fake = fakeTurns(overrides);
  const modelUid = refusedModel as ModelUid;
  const { turnId } = await fake.turns.start(asking({ modelUid }), soon);
  const error = new MillraceError(code, "No more.", { hint: "Wait.", ...options }).toRecord();
  fake.backend.last.emit({ type: "failed", error });
  await new FakeReader(fake.turns, turnId).done;
  const again = (fingerprint: string, modelUid = "some-model") =>
    fake.turns.start(asking({ fingerprint, modelUid: modelUid as ModelUid }), soon); // any text will do here
  return { ...fake, again };
}

/** The last event of the only turn. */
async function logged(store: LogStore) {
  const [turn] = await store.list({ limit: 1 });
  const { events } = await store.readAfter(turn?.turnId as TurnId, startOfLog, { limit: 9 });
  return events.at(-1);
}

describe("after a refusal", () => {
  test("what is sent for the same model in the next minute is refused here, and the server is asked once", async () => {
    const { again, backend, clock } = await refused("quota_exhausted");
    await clock.advance(12_000);
    await expect(again("the same again")).rejects.toMatchObject({
      code: "quota_exhausted",
      message: "No more.",
      hint: "Wait. That was the answer 12 s ago, and no prompt was sent now; a request after 48 s is sent again.",
      repeated: true,
    });
    await expect(again("something else")).rejects.toMatchObject({ repeated: true });
    expect(backend.answers).toHaveLength(1);
    await clock.advance(48_000);
    await again("a minute later");
    expect(backend.answers).toHaveLength(2);
  });

  test("the model counts as blocked, until the reset where it is known, and no longer once it answers", async () => {
    const resetsAtMs = fakeTurns().clock.now() + 3_600_000;
    const { again, backend, clock, turns } = await refused("quota_exhausted", { resetsAtMs });
    const blocked = { model: "some-model", code: "quota_exhausted", sinceMs: clock.now(), untilMs: resetsAtMs };
    expect(turns.blocked()).toEqual([blocked]);
    await clock.advance(61_000);
    expect(turns.blocked()).toEqual([blocked]); // a request is sent again, but nothing says that it would be answered
    const { turnId } = await again("a minute later");
    backend.last.emit({ type: "finished", reason: { unified: "stop", raw: undefined }, text: "" });
    await new FakeReader(turns, turnId).done;
    expect(turns.blocked()).toEqual([]);
  });

  test("the next gateway of the home knows it, until its end; a limit with a reset is asked about first", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const earlier = fakeTurns({ store, clock, owner: "owner-1" });
    const limits = [
      ["some-model", new MillraceError("rate_limited", "No more.", { retryAfterMs: 20_000 })],
      ["used-up", new MillraceError("quota_exhausted", "No more.", { resetsAtMs: clock.now() + 3_600_000 })],
    ] as const;
    for (const [modelUid, error] of limits) {
      const asked = asking({ fingerprint: modelUid, modelUid: modelUid as ModelUid });
      const { turnId } = await earlier.turns.start(asked, soon);
      await earlier.backend.prompted();
      earlier.backend.last.emit({ type: "failed", error: error.toRecord() });
      await new FakeReader(earlier.turns, turnId).done;
    }
    let hasCapacity = false;
    const limitOf = async (): Promise<ModelLimit> => ({ hasCapacity, resetsInMs: 3_000_000 });
    const { turns, backend } = fakeTurns({ store, clock, owner: "owner-2", limitOf });
    const again = (fingerprint: string, modelUid: string) =>
      turns.start(asking({ fingerprint, modelUid: modelUid as ModelUid }), soon);
    await expect(again("a", "some-model")).rejects.toMatchObject({ code: "rate_limited", repeated: true });
    await clock.advance(61_000);
    await expect(again("b", "used-up")).rejects.toMatchObject({ code: "quota_exhausted", repeated: true });
    expect(backend.answers).toHaveLength(0);
    hasCapacity = true;
    await clock.advance(5_000);
    for (const model of ["some-model", "used-up"]) await again(`after ${model}`, model);
    expect(backend.answers).toHaveLength(2);
  });

  test("the next gateway of the home asks a model that answered a later turn", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const earlier = fakeTurns({ store, clock, owner: "owner-1" });
    const ids: TurnId[] = [];
    for (const fingerprint of ["a", "b"]) {
      ids.push((await earlier.turns.start(asking({ fingerprint }), soon)).turnId);
      await earlier.backend.prompted();
    }
    const [first, second] = earlier.backend.answers;
    const error = new MillraceError("rate_limited", "No more.", { retryAfterMs: 60_000 });
    first?.emit({ type: "failed", error: error.toRecord() });
    second?.finish("Hello");
    for (const id of ids) await new FakeReader(earlier.turns, id).done;
    const { turns, backend } = fakeTurns({ store, clock, owner: "owner-2" });
    await turns.start(asking({ fingerprint: "c" }), soon);
    expect(backend.answers).toHaveLength(1);
  });

  test("another model is asked", async () => {
    const { again, backend } = await refused("quota_exhausted");
    await again("the same again", "a-cheaper-model");
    expect(backend.answers).toHaveLength(2);
  });

  test("a reset within the minute ends it", async () => {
    const { again, backend, clock } = await refused("quota_exhausted", { resetsAtMs: fakeTurns().clock.now() + 5_000 });
    await expect(again("before")).rejects.toMatchObject({ repeated: true });
    await clock.advance(5_000);
    await again("after");
    expect(backend.answers).toHaveLength(2);
  });

  test("a limit holds as long as its wait, and says what is left of it", async () => {
    const { again, backend, clock } = await refused("rate_limited", { retryAfterMs: 20_000 });
    await clock.advance(5_000);
    await expect(again("early")).rejects.toMatchObject({ code: "rate_limited", retryAfterMs: 15_000 });
    await clock.advance(15_000);
    await again("in time");
    expect(backend.answers).toHaveLength(2);
  });

  test("a limit without a wait holds half a minute, and the log says that wait", async () => {
    const { again, backend, clock, store } = await refused("rate_limited");
    expect(await logged(store)).toMatchObject({
      type: "failed",
      error: { code: "rate_limited", retryAfterMs: 30_000 },
    });
    await clock.advance(29_000);
    await expect(again("early")).rejects.toMatchObject({ code: "rate_limited", repeated: true, retryAfterMs: 1_000 });
    await clock.advance(1_000);
    await again("in time");
    expect(backend.answers).toHaveLength(2);
  });

  test("a quota that does not say its reset gets the one that the meter knows", async () => {
    const resetsAtMs = fakeTurns().clock.now() + 3_600_000;
    const { again, store } = await refused("quota_exhausted", {}, { resetOf: () => resetsAtMs });
    expect(await logged(store)).toMatchObject({ type: "failed", error: { resetsAtMs } });
    await expect(again("the same again")).rejects.toMatchObject({ repeated: true, resetsAtMs });
  });

  test("a reset that the refusal names counts more than the meter's", async () => {
    const resetsAtMs = fakeTurns().clock.now() + 5_000;
    const { again } = await refused("quota_exhausted", { resetsAtMs }, { resetOf: () => resetsAtMs + 9_000 });
    await expect(again("the same again")).rejects.toMatchObject({ resetsAtMs });
  });

  test("an exhausted quota says what helps, and whose models are refused too", async () => {
    const asked: [number | undefined, boolean, boolean][] = [];
    const { again, store } = await refused(
      "quota_exhausted",
      { resetsAtMs: 5e15 },
      {
        adviceOf({ resetsAtMs }, isRefused) {
          asked.push([resetsAtMs, isRefused("some-model" as ModelUid), isRefused("another" as ModelUid)]);
          return "It resets in a year.";
        },
      },
    );
    expect(asked).toEqual([[5e15, true, false]]);
    expect(await logged(store)).toMatchObject({ error: { hint: "It resets in a year." } });
    await expect(again("the same again")).rejects.toMatchObject({
      hint: expect.stringMatching(/^It resets in a year\. /),
    });
  });

  test("a configured agent's quota has nothing to do with the IDE's plan", async () => {
    const options = {
      resetOf: () => fakeTurns().clock.now() + 5_000,
      limitOf: async (): Promise<ModelLimit> => ({ hasCapacity: false, resetsInMs: 5_000 }),
      adviceOf: ({ ofAgent }: { readonly ofAgent: string | undefined }) => `${ofAgent} knows.`,
    };
    const { again, store } = await refused("quota_exhausted", {}, options, "opencode/gpt");
    const end = await logged(store);
    expect(end).toMatchObject({ error: { code: "quota_exhausted", hint: "opencode knows." } });
    expect(end).not.toHaveProperty("error.resetsAtMs");
    await expect(again("the same again", "opencode/gpt")).rejects.toMatchObject({ resetsAtMs: undefined });
  });

  test("what is no refusal keeps no other request from asking", async () => {
    const { again, backend } = await refused("upstream_failed");
    await again("at once");
    expect(backend.answers).toHaveLength(2);
  });
});

describe("a limit that the server reports", () => {
  /** A server that gives these answers in turn. */
  function server(...answers: (ModelLimit | undefined)[]) {
    const asked: string[] = [];
    const limitOf = async (model: string) => {
      asked.push(model);
      return answers.length > 1 ? answers.shift() : answers[0];
    };
    return { asked, limitOf };
  }
  const holds = (resetsInMs: number | undefined): ModelLimit => ({ hasCapacity: false, resetsInMs });
  const free: ModelLimit = { hasCapacity: true, resetsInMs: undefined };

  test("is asked for once by requests that come together", async () => {
    const { limitOf, asked } = server(holds(3_600_000));
    const { again, clock } = await refused("rate_limited", {}, { limitOf });
    await clock.advance(300_000);
    const before = asked.length;
    await Promise.allSettled(["one", "two", "three"].map((text) => again(text)));
    expect(asked.length - before).toBe(1);
  });

  test("ends when the server says, long after a minute, and the first refusal has its end", async () => {
    const { limitOf } = server(holds(3_600_000), holds(3_600_000), holds(3_000_000), free);
    const { again, backend, clock, store } = await refused("rate_limited", {}, { limitOf });
    expect(await logged(store)).toMatchObject({ type: "failed", error: { retryAfterMs: 3_600_000 } });
    const atMs = clock.now();
    await clock.advance(300_000);
    await expect(again("five minutes later")).rejects.toMatchObject({
      retryAfterMs: 3_600_000,
      hint: expect.stringContaining("asks the IDE's server, without a prompt, whether the limit has ended"),
      resetsAtMs: atMs + 300_000 + 3_600_000,
    });
    await clock.advance(300_000);
    await expect(again("ten minutes later")).rejects.toMatchObject({ retryAfterMs: 3_000_000, repeated: true });
    expect(backend.answers).toHaveLength(1);
    await clock.advance(60_000);
    await again("the limit was lifted early");
    expect(backend.answers).toHaveLength(2);
  });

  test("that ends within the minute ends the refusal with it", async () => {
    const { limitOf } = server(holds(7_000), free);
    const { again, backend, clock } = await refused("quota_exhausted", {}, { limitOf });
    await expect(again("at once")).rejects.toMatchObject({ repeated: true });
    await clock.advance(7_000);
    await again("after its end");
    expect(backend.answers).toHaveLength(2);
  });

  test("is looked at once in five seconds, however many requests ask", async () => {
    const { limitOf, asked } = server(holds(60_000));
    const { again, clock } = await refused("quota_exhausted", {}, { limitOf });
    for (const body of ["a", "b", "c"]) await expect(again(body)).rejects.toMatchObject({ repeated: true });
    expect(asked).toEqual(["some-model"]);
    await clock.advance(5_000);
    for (const body of ["d", "e"]) await expect(again(body)).rejects.toMatchObject({ repeated: true });
    expect(asked).toHaveLength(2);
  });

  test.each([
    ["does not say", undefined],
    ["knows no limit that would explain it", free],
  ])("counts for its minute where the server %s", async (_, answer) => {
    const { limitOf, asked } = server(answer);
    const { again, backend, clock } = await refused("quota_exhausted", {}, { limitOf });
    await clock.advance(59_000);
    await expect(again("early")).rejects.toMatchObject({ repeated: true });
    await clock.advance(1_000);
    await again("in time");
    expect(backend.answers).toHaveLength(2);
    expect(asked).toHaveLength(1);
  });

  test("whose server cannot be asked any more is believed to its end", async () => {
    let fails = false;
    const limitOf = async () => (fails ? Promise.reject(new Error("gone")) : holds(90_000));
    const { again, backend, clock } = await refused("quota_exhausted", {}, { limitOf });
    fails = true;
    await clock.advance(89_000);
    await expect(again("early")).rejects.toMatchObject({ repeated: true });
    await clock.advance(1_000);
    await again("in time");
    expect(backend.answers).toHaveLength(2);
  });
});
