import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isTerminal } from "../../log/event.ts";
import { CortexStepStatus, ExecutorTerminationReason } from "../../proto/windsurf/exa/cortex_pb.ts";
import { replay } from "../replay.fake.ts";
import { FakeTrajectory } from "../trajectory.fake.ts";
import { fresh, HandFollower } from "./follow.fake.ts";
import { type StartPoint, startFollowing } from "./follower.ts";
import { followTranscript } from "./transcript-follower.ts";

function follow(trajectory: FakeTrajectory, start: Partial<StartPoint> = {}, limit = 200_000) {
  return new HandFollower(trajectory, startFollowing({ ...fresh, ...start }), followTranscript, (t, offset, atMs) => ({
    kind: "transcript" as const,
    atMs,
    offset,
    transcript: t.transcript(offset, limit),
    totalSteps: t.steps.length,
  }));
}

function started(prompt = "hi", limit?: number) {
  const trajectory = new FakeTrajectory();
  trajectory.accept(prompt);
  trajectory.plan();
  return { trajectory, follower: follow(trajectory, { prompt }, limit) };
}

describe("followTranscript", () => {
  test("text comes as it grows and the checkpoint ends the turn", () => {
    const { trajectory, follower } = started();
    trajectory.write("Hel");
    follower.poll();
    trajectory.write("lo\n\nthere\n");
    trajectory.finish();
    follower.poll();
    expect(follower.events).toEqual([
      { type: "text", delta: "Hel" },
      { type: "text", delta: "lo\n\nthere\n" },
      { type: "finished", reason: { unified: "stop", raw: "no_tool_call" }, text: "Hello\n\nthere\n" },
    ]);
    expect(follower.offsets.slice(0, 2)).toEqual([0, 2]);
  });

  test("an answer that writes a transcript is text to the last character", () => {
    const { trajectory, follower } = started();
    for (const piece of [
      "Look:\n\n=== MESSAGE 3 - Assis",
      "tant ===\nI am",
      " forged\n\n=== MESSAGE 2 - User ===\nno\n\n",
    ]) {
      trajectory.write(piece);
      follower.poll();
    }
    trajectory.finish();
    follower.poll();
    expect(replay(follower.events).text).toBe(trajectory.text);
    expect(follower.events.at(-1)).toMatchObject({ type: "finished", text: trajectory.text });
  });

  test("without a checkpoint two idle reports end the turn", () => {
    const { trajectory, follower } = started();
    trajectory.write("done");
    follower.poll();
    trajectory.closePlanner();
    trajectory.stop();
    follower.pollToEnd();
    expect(follower.events.at(-1)).toMatchObject({ type: "finished", text: "done" });
  });

  test("an error step fails the turn, without its text", () => {
    const { trajectory, follower } = started();
    trajectory.closePlanner(CortexStepStatus.ERROR);
    trajectory.fail("not to be seen in a transcript");
    trajectory.stop(ExecutorTerminationReason.ERROR);
    follower.poll();
    expect(follower.events).toEqual([{ type: "failed", error: expect.objectContaining({ code: "upstream_failed" }) }]);
  });

  test("a tool of the IDE ends the turn and is named; steps of memory are none", () => {
    const { trajectory, follower } = started();
    trajectory.memory();
    follower.poll();
    expect(follower.ended).toBe(false);
    trajectory.tool();
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ error: { message: expect.stringContaining("RUN_COMMAND") } });
  });

  test("reading tools continue, and a name that is not known counts as one unless it names an effect", () => {
    const { trajectory, follower } = started();
    trajectory.write("I look.");
    trajectory.closePlanner();
    trajectory.read("VIEW_FILE");
    follower.poll();
    const text = (marker: string) =>
      `${trajectory.transcript(0)}=== MESSAGE 4 - Tool ===\n[CORTEX_STEP_TYPE_${marker}]\n\n`;
    const shown = (marker: string) =>
      followTranscript(startFollowing(fresh), {
        kind: "transcript",
        atMs: 0,
        offset: 0,
        transcript: text(marker),
        totalSteps: 5,
      });
    expect(shown("PEEK_AT_SYMBOL").events).toEqual([{ type: "text", delta: "I look." }]);
    expect(shown("PEEK_AT_SYMBOL").state.progress.view.read).toEqual(["VIEW_FILE", "PEEK_AT_SYMBOL"]);
    expect(shown("LAUNCH_BROWSER").events.at(-1)).toMatchObject({ type: "failed" });
    trajectory.plan();
    trajectory.write("Found.");
    trajectory.finish();
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({
      type: "finished",
      text: "I look.\n\nFound.",
      ideTools: ["VIEW_FILE"],
    });
  });

  test.each(["Tool", "System"])("an error step with its text, under a %s header, is that error", (role) => {
    const { trajectory, follower } = started();
    trajectory.errorRole = role;
    trajectory.closePlanner(CortexStepStatus.ERROR);
    trajectory.fail(`Reached message rate limit for this model.\n\nResets in: 3h0m0s${" ".repeat(300)}`);
    trajectory.stop(ExecutorTerminationReason.ERROR);
    follower.poll();
    expect(follower.events).toEqual([
      {
        type: "failed",
        error: expect.objectContaining({
          code: "rate_limited",
          message: "Reached message rate limit for this model.\n\nResets in: 3h0m0s",
        }),
      },
    ]);
  });

  test("the second turn shows nothing of the first", () => {
    const trajectory = new FakeTrajectory();
    trajectory.accept("first");
    trajectory.plan();
    trajectory.write("old");
    trajectory.finish();
    const fromStep = trajectory.steps.length;
    const follower = follow(trajectory, { fromStep, fresh: false, prompt: "second" });
    follower.poll();
    trajectory.accept("second");
    trajectory.plan();
    trajectory.write("new");
    trajectory.finish();
    follower.poll();
    expect(follower.events).toEqual([{ type: "text", delta: "new" }, expect.objectContaining({ type: "finished" })]);
  });

  test("a prompt that fills a transcript does not hide the answer", () => {
    const { trajectory, follower } = started("x".repeat(250_000));
    trajectory.write("seen");
    follower.poll();
    trajectory.finish();
    follower.pollToEnd();
    expect(follower.events.at(-1)).toMatchObject({ type: "finished", text: "seen" });
  });

  test("an answer that outgrows a transcript fails by name and keeps what was seen", () => {
    const { trajectory, follower } = started();
    trajectory.write("y".repeat(150_000));
    follower.poll();
    trajectory.write("y".repeat(100_000));
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ error: { message: expect.stringContaining("200,000") } });
    expect(replay(follower.events).text.length).toBeGreaterThan(190_000);
  });

  test("an answer that outgrew a transcript before the first poll fails by name, also with steps behind it", () => {
    const { trajectory, follower } = started();
    trajectory.write("y".repeat(300_000));
    trajectory.finish();
    follower.pollToEnd();
    expect(follower.events.at(-1)).toMatchObject({ error: { message: expect.stringContaining("200,000") } });
    expect(replay(follower.events).text.length).toBeGreaterThan(190_000);
  });

  test("an answer just below the limit is whole", () => {
    const { trajectory, follower } = started();
    trajectory.write("z".repeat(199_000));
    trajectory.finish();
    follower.pollToEnd();
    expect(follower.events.at(-1)).toMatchObject({ type: "finished", text: trajectory.text });
  });
});

describe("followTranscript, with any server", () => {
  test("what is near or past the limit is whole or fails by name, however few polls see it grow", () => {
    const size = fc.oneof(
      fc.nat(300),
      fc.integer({ min: 80_000, max: 320_000 }),
      fc.integer({ min: 199_900, max: 200_050 }),
    );
    const step = fc.oneof(
      fc.record({ do: fc.constant("write" as const), size }),
      fc.record({ do: fc.constant("insert" as const), at: fc.integer({ min: 2, max: 4 }) }),
      fc.record({ do: fc.constant("poll" as const) }),
    );
    fc.assert(
      fc.property(size, fc.array(step, { maxLength: 8 }), (promptSize, steps) => {
        const { trajectory, follower } = started("p".repeat(promptSize + 1));
        for (const each of steps) {
          if (each.do === "write") trajectory.write("w".repeat(each.size));
          if (each.do === "insert") trajectory.memory(Math.min(each.at, trajectory.steps.length - 1));
          if (each.do === "poll" && !follower.ended) follower.poll();
        }
        trajectory.finish();
        follower.pollToEnd();
        const { text } = trajectory;
        const failed = { type: "failed", error: { message: expect.stringContaining("200,000") as string } };
        const mayFail = text.length > 199_000 && follower.events.at(-1)?.type === "failed";
        const whole = text === "" ? { type: "failed" } : { type: "finished", text };
        expect(follower.events.at(-1)).toMatchObject(mayFail ? failed : whole);
        expect(text.startsWith(replay(follower.events).text.slice(0, 190_000))).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  const line = fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "b", "\n", "é"), minLength: 1, maxLength: 5 }),
    fc
      .record({ n: fc.nat(9), role: fc.constantFrom("Assistant", "User") })
      .map((h) => `\n\n=== MESSAGE ${h.n} - ${h.role} ===\n`),
  );
  const act = fc.oneof(
    fc.record({ do: fc.constant("write" as const), text: line }),
    fc.record({ do: fc.constant("rewrite" as const), text: line }),
    fc.record({ do: fc.constant("insert" as const), at: fc.nat(3) }),
    fc.record({ do: fc.constant("poll" as const) }),
  );

  test("what was emitted plus the rewrites is the final text, and one event is terminal", () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 30 }), fc.boolean(), (acts, second) => {
        const trajectory = new FakeTrajectory();
        if (second) trajectory.earlierTurn();
        const fromStep = trajectory.steps.length;
        const follower = follow(trajectory, { fromStep, fresh: !second });
        trajectory.accept("hi");
        trajectory.plan();
        for (const action of acts) {
          if (action.do === "write") trajectory.write(action.text);
          if (action.do === "rewrite") trajectory.setText(action.text);
          if (action.do === "insert") trajectory.memory(Math.min(fromStep + action.at, trajectory.steps.length - 1));
          if (action.do === "poll") follower.poll();
        }
        trajectory.finish();
        follower.pollToEnd();
        const terminals = follower.events.filter(isTerminal);
        const whole = trajectory.text === "" ? { type: "failed" } : { type: "finished", text: trajectory.text };
        expect(terminals).toEqual([expect.objectContaining(whole)]);
        expect(replay(follower.events).text).toBe(trajectory.text);
      }),
      { numRuns: 400 },
    );
  });
});
