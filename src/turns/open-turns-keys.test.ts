import { describe, expect, test } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { MillraceError, unsentPrompt } from "../base/errors.ts";
import { idle } from "../base/wait.fake.ts";
import { openMemoryLog } from "../log/memory-log.fake.ts";
import { unknownTurn } from "../log/rows.ts";
import { asking, bound, FakeReader, stoppedTurns } from "./turns.fake.ts";

const never = new AbortController().signal;
/** Turns that are stopped after the test. */
const begin = stoppedTurns();

describe("an idempotency key", () => {
  test("with the same request joins the turn, running or finished", async () => {
    const { turns, backend } = begin();
    const keyed = asking({ idempotencyKey: "k" });
    const first = await turns.start(keyed, never);
    const second = await turns.start(keyed, never);
    expect(second).toMatchObject({ turnId: first.turnId, joined: "key" });
    await backend.prompted();
    backend.last.finish("x");
    await new FakeReader(turns, first.turnId).done;
    backend.missing = new MillraceError("ide_not_running", "No IDE runs.");
    expect(await turns.start(keyed, never)).toMatchObject({ turnId: first.turnId, joined: "key" });
    expect(backend.answers).toHaveLength(1);
  });

  test("sent twice at the same moment starts one turn", async () => {
    const { turns, backend } = begin();
    const keyed = asking({ idempotencyKey: "k" });
    const [a, b] = await Promise.all([turns.start(keyed, never), turns.start(keyed, never)]);
    expect(a.turnId).toBe(b.turnId);
    expect([a.joined, b.joined].sort()).toEqual(["key", "no"]);
    await idle();
    expect(backend.answers.filter(({ promptSent }) => promptSent)).toHaveLength(1);
    // the conversation that was started for the other one is closed before it gets a prompt
    expect(backend.answers.filter(({ stoppedBy, closed }) => closed && stoppedBy === "cancel")).toHaveLength(1);
  });

  test("with another request is a conflict", async () => {
    const { turns } = begin();
    await turns.start(asking({ idempotencyKey: "k" }), never);
    const other = asking({ idempotencyKey: "k", fingerprint: "body-2" });
    await expect(turns.start(other, never)).rejects.toMatchObject({ code: "idempotency_conflict" });
  });

  test("whose turn failed before anything was sent is free: the same request starts one turn more, whoever repeats it", async () => {
    const { turns, backend } = begin();
    const keyed = asking({ idempotencyKey: "k" });
    backend.refusal = new MillraceError("upstream_failed", "The agent has just crashed.");
    const failed = await turns.start(keyed, never);
    await turns.untilEnded(failed.turnId, never);
    backend.refusal = undefined;
    const again = await Promise.all([turns.start(keyed, never), turns.start(keyed, never)]);
    expect(new Set(again.map(({ turnId }) => turnId)).size).toBe(1);
    expect(again.map(({ joined }) => joined).toSorted()).toEqual(["key", "no"]);
    expect(again[0]?.turnId).not.toBe(failed.turnId);
    await idle();
    expect(backend.sent).toHaveLength(1);
    expect(await turns.get(failed.turnId)).toBeUndefined();
  });

  test("whose turn failed before anything was sent still refuses another request", async () => {
    const { turns, backend } = begin();
    backend.refusal = new MillraceError("upstream_failed", "The agent has just crashed.");
    const failed = await turns.start(asking({ idempotencyKey: "k" }), never);
    await turns.untilEnded(failed.turnId, never);
    const other = turns.start(asking({ idempotencyKey: "k", fingerprint: "body-2" }), never);
    await expect(other).rejects.toMatchObject({ code: "idempotency_conflict" });
  });

  test("whose turn failed after `started` without a prompt is free too", async () => {
    const { turns, backend } = begin();
    const keyed = asking({ idempotencyKey: "k" });
    const failed = await turns.start(keyed, never);
    await backend.prompted();
    const error = new MillraceError("upstream_failed", "The IDE restarted.", { details: { reason: unsentPrompt } });
    backend.last.emit({ type: "failed", error: error.toRecord() });
    backend.last.end();
    await turns.untilEnded(failed.turnId, never);
    const again = await Promise.all([turns.start(keyed, never), turns.start(keyed, never)]);
    expect(new Set(again.map(({ turnId }) => turnId)).size).toBe(1);
    expect(again[0]?.turnId).not.toBe(failed.turnId);
  });

  test("whose failed turn cannot be read is not free: it may have been prompted", async () => {
    const store = bound(openMemoryLog({ clock: new FakeClock() }));
    const { turns, backend } = begin({ store });
    const keyed = asking({ idempotencyKey: "k" });
    const failed = await turns.start(keyed, never);
    await backend.prompted();
    const error = new MillraceError("upstream_failed", "The IDE restarted.", { details: { reason: unsentPrompt } });
    backend.last.emit({ type: "failed", error: error.toRecord() });
    backend.last.end();
    await turns.untilEnded(failed.turnId, never);
    Object.assign(store, { readAfter: () => Promise.reject(unknownTurn()) });
    expect(await turns.start(keyed, never)).toMatchObject({ turnId: failed.turnId, joined: "key" });
    expect(backend.answers).toHaveLength(1);
  });

  test("is spent by a prompt that was sent, also if the turn failed", async () => {
    const { turns, backend } = begin();
    const keyed = asking({ idempotencyKey: "k" });
    const failed = await turns.start(keyed, never);
    await backend.prompted();
    backend.last.end();
    await turns.untilEnded(failed.turnId, never);
    expect(await turns.start(keyed, never)).toMatchObject({ turnId: failed.turnId, joined: "key" });
    expect(backend.answers).toHaveLength(1);
  });

  test("of another caller is another key", async () => {
    const { turns } = begin();
    const mine = await turns.start(asking({ idempotencyKey: "k" }), never);
    const theirs = await turns.start(asking({ idempotencyKey: "k", caller: "caller-2" }), never);
    expect(theirs).toMatchObject({ joined: "no" });
    expect(theirs.turnId).not.toBe(mine.turnId);
  });
});
