import { describe, expect, test } from "vitest";
import { FakeTrajectory } from "../trajectory.fake.ts";
import { follow, started } from "./follow-steps.fake.ts";

describe("followSteps", () => {
  test("thinking and text come as they grow, and the end is known in the poll that shows it", () => {
    const { trajectory, follower } = started();
    trajectory.think("Let me see");
    follower.poll();
    trajectory.write("Hel");
    follower.poll();
    trajectory.write("lo");
    trajectory.finish();
    follower.poll();
    expect(follower.events).toEqual([
      { type: "thinking", delta: "Let me see" },
      { type: "text", delta: "Hel" },
      { type: "text", delta: "lo" },
      { type: "finished", reason: { unified: "stop", raw: "no_tool_call" }, text: "Hello" },
    ]);
  });

  test("steps that a server lost are gone only if five polls in a row lack them", () => {
    const { trajectory, follower } = started();
    trajectory.write("Hel");
    follower.poll();
    const { steps } = trajectory;
    const known = follower.state.entries.length;
    const lacking = (polls: number) => {
      trajectory.steps = steps.slice(0, -1);
      for (let poll = 0; poll < polls; poll++) follower.poll();
      return follower.state.entries.length;
    };
    expect(lacking(5)).toBe(known);
    trajectory.steps = steps;
    follower.poll(); // it has them again: it is counted anew
    expect([lacking(5), lacking(1)]).toEqual([known, known - 1]);
  });

  test("a poll asks for the last answer and what follows it only", () => {
    const { trajectory, follower } = started();
    follower.poll();
    trajectory.write("a");
    follower.poll();
    expect(follower.offsets).toEqual([0, 2]);
  });

  test("a checkpoint in the middle of a run ends nothing, and the answer continues in the next planner step", () => {
    const { trajectory, follower } = started();
    trajectory.write("first half, ");
    trajectory.closePlanner();
    trajectory.checkpoint();
    follower.poll();
    expect(follower.ended).toBe(false);
    trajectory.plan();
    trajectory.write("second half");
    follower.poll();
    trajectory.finish();
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ type: "finished", text: "first half, second half" });
  });

  test("idle at the start of a turn ends nothing", () => {
    const trajectory = new FakeTrajectory();
    const follower = follow(trajectory);
    for (let i = 0; i < 12; i++) follower.poll(100);
    trajectory.accept("hi");
    trajectory.plan();
    trajectory.write("x");
    trajectory.stop(); // a flicker: nothing is done yet
    for (let i = 0; i < 10; i++) follower.poll(100);
    trajectory.finish();
    follower.pollToEnd();
    expect(follower.events.at(-1)).toMatchObject({ type: "finished", text: "x" });
  });

  test("a finished answer without a checkpoint ends after two idle reports in a row", () => {
    const { trajectory, follower } = started();
    trajectory.write("done");
    trajectory.closePlanner();
    trajectory.stop();
    follower.poll();
    follower.poll(500);
    expect(follower.events.at(-1)).toEqual({
      type: "finished",
      reason: { unified: "stop", raw: undefined },
      text: "done",
    });
  });

  test("text that is rewritten after the checkpoint is reconciled before the end", () => {
    const { trajectory, follower } = started();
    trajectory.write("first");
    trajectory.closePlanner();
    trajectory.plan();
    trajectory.write(" second");
    follower.poll();
    const planner = trajectory.steps[2]?.step;
    if (planner?.case === "plannerResponse") planner.value.response = "FIRST";
    trajectory.finish();
    follower.poll();
    expect(follower.events.slice(-2)).toEqual([
      { type: "rewritten", text: "FIRST second" },
      expect.objectContaining({ type: "finished", text: "FIRST second" }),
    ]);
  });

  test("a modified response counts only once the step is done", () => {
    const { trajectory, follower } = started();
    trajectory.write("draft");
    trajectory.planner.response.modifiedResponse = "polished";
    follower.poll();
    expect(follower.events).toEqual([{ type: "text", delta: "draft" }]);
    trajectory.finish();
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ type: "finished", text: "polished" });
  });
});

describe("followSteps over more than one snapshot of a trajectory", () => {
  test("a step inserted before the answer moves it and repeats nothing", () => {
    const { trajectory, follower } = started();
    trajectory.write("Hello");
    follower.poll();
    trajectory.memory(1);
    trajectory.write(" there");
    follower.poll();
    trajectory.finish();
    follower.poll();
    expect(follower.events).toEqual([
      { type: "text", delta: "Hello" },
      { type: "text", delta: " there" },
      expect.objectContaining({ type: "finished", text: "Hello there" }),
    ]);
  });

  test("the second turn of a kept trajectory shows nothing of the first, also when that one still changes", () => {
    const trajectory = new FakeTrajectory();
    trajectory.accept("first");
    trajectory.plan();
    trajectory.write("old answer");
    trajectory.closePlanner();
    const fromStep = trajectory.steps.length;
    const follower = follow(trajectory, { fromStep, fresh: false, prompt: "second" });
    follower.poll();
    trajectory.write(" changed");
    trajectory.checkpoint();
    follower.poll();
    trajectory.accept("second");
    trajectory.plan();
    trajectory.write("new answer");
    follower.poll();
    trajectory.finish();
    follower.poll();
    expect(follower.offsets[0]).toBe(fromStep - 1);
    expect(follower.events).toEqual([
      { type: "text", delta: "new answer" },
      expect.objectContaining({ type: "finished", text: "new answer" }),
    ]);
  });

  test("a message that the user sends from the IDE ends the turn before it", () => {
    const { trajectory, follower } = started();
    trajectory.write("mine");
    trajectory.closePlanner();
    trajectory.accept("a person's");
    trajectory.plan();
    trajectory.write("not mine");
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ type: "finished", text: "mine" });
  });

  test("a turn that continues after a restart of the gateway repeats nothing that the log holds", () => {
    const { trajectory } = started();
    trajectory.think("I think");
    trajectory.write("Hello wor");
    const follower = follow(trajectory, { sent: { text: "Hello", thinking: "I th" } });
    follower.poll();
    expect(follower.events).toEqual([
      { type: "thinking", delta: "ink" },
      { type: "text", delta: " wor" },
    ]);
  });

  test("an answer that stays open on an idle server fails by name and takes nothing back", () => {
    const { trajectory, follower } = started();
    trajectory.write("half of it");
    follower.poll();
    trajectory.setText("half");
    trajectory.stop();
    follower.pollToEnd();
    expect(follower.events).toEqual([
      { type: "text", delta: "half of it" },
      { type: "failed", error: expect.objectContaining({ code: "upstream_failed" }) },
    ]);
  });
});
