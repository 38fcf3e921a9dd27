import { describe, expect, test } from "vitest";
import { type ErrorCode, MillraceError } from "../base/errors.ts";
import type { TurnId } from "../base/ids.ts";
import type { StreamName } from "../log/store.ts";
import { BackOff } from "./back-off.ts";
import type { FakeBackend } from "./backend.fake.ts";
import type { Turns } from "./open-turns.ts";
import { asking, durable, FakeReader, fakeTurns } from "./turns.fake.ts";
import type { AskedTurn } from "./turns.ts";

const soon = new AbortController().signal;

/** Sends the request and, where it becomes a prompt, lets it fail. */
async function failing(
  { turns, backend }: { readonly turns: Turns; readonly backend: FakeBackend },
  {
    code = "internal",
    text = "",
    ...asked
  }: Partial<AskedTurn> & { readonly code?: ErrorCode; readonly text?: string },
) {
  const { turnId } = await turns.start(asking(asked), soon);
  await backend.prompted();
  if (text !== "") backend.last.text(text);
  backend.last.emit({ type: "failed", error: new MillraceError(code, "It broke.", { hint: "Look." }).toRecord() });
  const reader = new FakeReader(turns, turnId);
  await reader.done;
  return reader.events;
}

test("the failures of the newest 1,000 bodies are remembered, and no more", () => {
  const backOff = new BackOff(() => 0);
  const fail = (body: string) =>
    backOff.watch(body).push({ type: "failed", error: new MillraceError("rate_limited", "Wait.").toRecord() });
  fail("first");
  for (let nth = 1; nth < 1_000; nth++) fail(`body ${nth}`);
  expect(() => backOff.check("first", "request")).toThrow("Wait.");
  fail("one more");
  expect(backOff.check("first", "request")).toBeUndefined();
  expect(() => backOff.check("body 1", "request")).toThrow("Wait.");
});

test("a body that fails again counts among the newest", () => {
  const backOff = new BackOff(() => 0);
  const fail = (body: string) =>
    backOff.watch(body).push({ type: "failed", error: new MillraceError("rate_limited", "Wait.").toRecord() });
  fail("first");
  for (let nth = 1; nth < 1_000; nth++) fail(`body ${nth}`);
  fail("first");
  fail("one more");
  expect(() => backOff.check("first", "request")).toThrow("Wait.");
  expect(backOff.check("body 1", "request")).toBeUndefined();
});

test("of two turns of one body the failure of one counts, though the other finished before", () => {
  const backOff = new BackOff(() => 0);
  const [first, second] = [backOff.watch("body"), backOff.watch("body")];
  first.push({ type: "finished", reason: { unified: "stop", raw: undefined }, text: "" });
  second.push({ type: "failed", error: new MillraceError("rate_limited", "Wait.").toRecord() });
  expect(() => backOff.check("body", "request")).toThrow("Wait.");
});

test("a turn that its reader cancelled counts as no prompt", () => {
  const backOff = new BackOff(() => 0);
  const failed = { type: "failed", error: new MillraceError("internal", "It broke.").toRecord() } as const;
  backOff.watch("body").push(failed);
  backOff.watch("body").push({ type: "cancelled", by: "client" });
  const earlier = backOff.check("body", "request");
  expect(earlier).toBeDefined();
  backOff.watch("body", earlier).push(failed);
  expect(() => backOff.check("body", "request")).toThrow("It broke.");
});

describe("a body that failed, sent again without a key", () => {
  test("becomes one more prompt; then the failure is repeated, until the wait is over", async () => {
    const fake = fakeTurns();
    await failing(fake, {});
    await failing(fake, {});
    for (let i = 0; i < 5; i++)
      await expect(fake.turns.start(asking(), soon)).rejects.toMatchObject({
        code: "internal",
        message: "It broke.",
        repeated: true,
      });
    expect(fake.backend.answers).toHaveLength(2);
    await fake.clock.advance(30_000);
    await failing(fake, {});
    await fake.clock.advance(30_000);
    await expect(fake.turns.start(asking(), soon)).rejects.toMatchObject({ repeated: true });
    expect(fake.backend.answers).toHaveLength(3);
  });

  test("has a final failure if no prompt may follow it now, so that its client need not ask again", async () => {
    const fake = fakeTurns();
    const errorOf = async (asked: Parameters<typeof failing>[1]) => {
      const events = await failing(fake, asked);
      const last = events.at(-1);
      return last?.type === "failed" ? last.error : undefined;
    };
    expect(await errorOf({})).toEqual({ code: "internal", message: "It broke.", hint: "Look." });
    expect(await errorOf({})).toEqual({
      code: "internal",
      message: "It broke.",
      hint: "The same request failed before. Millrace sends it again after 30 s, or now with a new Idempotency-Key.",
      final: true,
    });
    await fake.clock.advance(60_000);
    expect(await errorOf({ text: "Once upon" })).toMatchObject({ hint: expect.stringContaining("120 s"), final: true });
    const limited = { fingerprint: "body-2", code: "rate_limited" } as const;
    expect(await errorOf(limited)).not.toHaveProperty("final");
    await fake.clock.advance(60_000);
    expect(await errorOf(limited)).not.toHaveProperty("final");
  });

  test("gets no prompt at once where its client repeats each failure in the middle by itself", async () => {
    const fake = fakeTurns();
    const asked = { repeatsLate: true };
    await failing(fake, { ...asked, text: "Once upon" });
    await expect(fake.turns.start(asking(asked), soon)).rejects.toMatchObject({ repeated: true });
    await fake.clock.advance(60_000);
    await failing(fake, asked);
    await failing(fake, { ...asked, fingerprint: "body-2" });
    await failing(fake, { ...asked, fingerprint: "body-2" }); // nothing had arrived: one more at once
    expect(fake.backend.answers).toHaveLength(4);
  });

  test("waits longer where a part of the answer was sent", async () => {
    const fake = fakeTurns();
    await failing(fake, { text: "Once upon" });
    await failing(fake, { text: "Once upon" });
    await fake.clock.advance(59_000);
    await expect(fake.turns.start(asking(), soon)).rejects.toMatchObject({ repeated: true });
    await fake.clock.advance(1_000);
    await fake.turns.start(asking(), soon);
    expect(fake.backend.answers).toHaveLength(3);
  });

  test("counts a repetition that still runs", async () => {
    const fake = fakeTurns();
    await failing(fake, {});
    const { turnId } = await fake.turns.start(asking(), soon);
    const reader = new FakeReader(fake.turns, turnId);
    await reader.seen("started");
    const third = fake.turns.start(asking(), soon);
    third.catch(() => undefined); // looked at below
    await fake.clock.advance(1_000);
    await expect(third).rejects.toMatchObject({ code: "internal", repeated: true });
    expect(fake.backend.answers).toHaveLength(2);
    await reader.leave();
  });

  test("is repeated without joins too, and forgotten by a gateway that was started since", async () => {
    const first = fakeTurns({ implicitJoins: false });
    await failing(first, {});
    await failing(first, {});
    await expect(first.turns.start(asking(), soon)).rejects.toMatchObject({ message: "It broke.", repeated: true });
    const later = fakeTurns({ store: durable(first.store), owner: "owner-2" });
    await later.turns.start(asking(), soon);
    expect(later.backend.answers).toHaveLength(1);
  });

  test("is a prompt again for another caller, another body, a new key, and after an answer", async () => {
    const fake = fakeTurns();
    await failing(fake, {});
    await failing(fake, {});
    await failing(fake, { caller: "caller-2" });
    await failing(fake, { fingerprint: "body-2" });
    await failing(fake, { idempotencyKey: "fresh" });
    expect(fake.backend.answers).toHaveLength(5);
    await fake.clock.advance(60_000);
    const { turnId } = await fake.turns.start(asking(), soon);
    await fake.backend.prompted();
    fake.backend.last.finish("");
    await new FakeReader(fake.turns, turnId).done;
    await failing(fake, {});
    await failing(fake, {});
    expect(fake.backend.answers).toHaveLength(8);
  });

  test("repeats the failure of the same key for ever, without a prompt", async () => {
    const fake = fakeTurns();
    await failing(fake, { idempotencyKey: "spent" });
    await fake.clock.advance(3_600_000);
    const again = await fake.turns.start(asking({ idempotencyKey: "spent" }), soon);
    expect(again.joined).toBe("key");
    expect(fake.backend.answers).toHaveLength(1);
  });
});

test("streams of different names with the same body count together", async () => {
  const { turns, backend, clock } = fakeTurns();
  const send = async (name: string) => {
    const stream: StreamName = { caller: "caller-1", name, clientKey: undefined };
    const attachment = await turns.attach(stream, "create");
    const sent = await attachment.send(
      { seqno: 0, payload: new Uint8Array([1]) },
      asking({ fingerprint: name, body: "the same" }),
      soon,
    );
    await backend.prompted();
    backend.last.emit({ type: "failed", error: new MillraceError("internal", "It broke.").toRecord() });
    await turns.untilEnded(sent.turn?.turnId ?? ("" as TurnId), soon);
    return sent;
  };
  await send("one");
  await send("two");
  await expect(send("three")).rejects.toMatchObject({ code: "internal", repeated: true });
  expect(backend.answers).toHaveLength(2);
  await clock.advance(30_000);
  await send("four");
  expect(backend.answers).toHaveLength(3);
});
