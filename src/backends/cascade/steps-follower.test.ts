import { create } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { unusableAnswer } from "../../base/errors.ts";
import { isTerminal } from "../../log/event.ts";
import {
  CortexStepStatus,
  CortexTrajectoryStepSchema,
  ExecutorTerminationReason,
} from "../../proto/windsurf/exa/cortex_pb.ts";
import { replay } from "../replay.fake.ts";
import { FakeTrajectory } from "../trajectory.fake.ts";
import { fresh, HandFollower } from "./follow.fake.ts";
import type { StartPoint } from "./follower.ts";
import { followSteps, startSteps } from "./steps-follower.ts";

function follow(trajectory: FakeTrajectory, start: Partial<StartPoint> = {}) {
  return new HandFollower(trajectory, startSteps({ ...fresh, ...start }), followSteps, (t, offset, atMs) => ({
    kind: "steps" as const,
    atMs,
    offset,
    steps: structuredClone(t.steps.slice(offset)),
  }));
}

function started(): { trajectory: FakeTrajectory; follower: ReturnType<typeof follow> } {
  const trajectory = new FakeTrajectory();
  trajectory.accept("hi");
  trajectory.plan();
  return { trajectory, follower: follow(trajectory) };
}

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

  test("a tool of the IDE ends the turn at once and is named", () => {
    const { trajectory, follower } = started();
    trajectory.write("I will look.");
    follower.poll();
    trajectory.tool();
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({
      type: "failed",
      error: { code: "upstream_failed", message: expect.stringContaining("RUN_COMMAND") },
    });
  });

  test("a call of a tool in the planner's step ends the turn before the tool runs", () => {
    const { trajectory, follower } = started();
    trajectory.planner.response.toolCalls.push({
      $typeName: "exa.codeium_common_pb.ChatToolCall",
      id: "1",
      name: "run_command",
      argumentsJson: "{}",
      invalidJsonStr: "",
      invalidJsonErr: "",
    });
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ error: { message: expect.stringContaining("run_command") } });
  });

  test("reading tools continue: the answers are one text, and the tools are named", () => {
    const { trajectory, follower } = started();
    trajectory.write("I will look.");
    trajectory.call("list_dir");
    trajectory.closePlanner();
    follower.poll();
    trajectory.read("LIST_DIRECTORY");
    trajectory.stop(); // idle between two steps
    for (let i = 0; i < 5; i++) follower.poll(300);
    expect(follower.ended).toBe(false);
    trajectory.read("VIEW_FILE");
    trajectory.read("VIEW_FILE");
    trajectory.plan();
    trajectory.write("There is ");
    trajectory.closePlanner();
    trajectory.checkpoint();
    trajectory.plan();
    trajectory.write("one file.");
    trajectory.finish();
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({
      type: "finished",
      text: "I will look.\n\nThere is one file.",
      ideTools: ["LIST_DIRECTORY", "VIEW_FILE"],
    });
    expect(replay(follower.events).text).toBe("I will look.\n\nThere is one file.");
  });

  test("a tool-only turn that reaches its checkpoint is an empty answer", () => {
    const { trajectory, follower } = started();
    trajectory.call("grep_search_v2");
    trajectory.closePlanner();
    trajectory.read("GREP_SEARCH");
    trajectory.finish();
    follower.poll();
    expect(follower.events).toEqual([
      expect.objectContaining({ type: "finished", text: "", ideTools: ["GREP_SEARCH"] }),
    ]);
  });

  test("a reading tool that waits for a decision ends the turn", () => {
    const { trajectory, follower } = started();
    trajectory.read("READ_URL_CONTENT", CortexStepStatus.WAITING);
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ error: { message: expect.stringContaining("READ_URL_CONTENT") } });
  });

  test("a memory written before the prompt is quiet, and one written after it ends the turn", () => {
    const trajectory = new FakeTrajectory();
    trajectory.read("MEMORY");
    const follower = follow(trajectory);
    follower.poll();
    trajectory.accept("hi");
    trajectory.plan();
    follower.poll();
    expect(follower.ended).toBe(false);
    trajectory.read("MEMORY");
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ error: { message: expect.stringContaining("MEMORY") } });
  });

  test.each(["mcp0_query", "createMemory", "write_to_file", "replace_file_content", "MCP_TOOL"])(
    "a call of %s is an effect",
    (name) => {
      const { trajectory, follower } = started();
      trajectory.call(name);
      follower.poll();
      expect(follower.events.at(-1)).toMatchObject({ type: "failed" });
    },
  );

  test.each([
    ["a step", (trajectory: FakeTrajectory) => trajectory.read("VIEW_FILE")],
    ["a call", (trajectory: FakeTrajectory) => trajectory.call("view_file")],
  ])("`stop` ends the turn at %s of a reading tool", (_, act) => {
    const trajectory = new FakeTrajectory();
    const follower = follow(trajectory, { ideTools: "stop" });
    trajectory.accept("hi");
    trajectory.plan();
    act(trajectory);
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ type: "failed", error: { details: { reason: unusableAnswer } } });
  });

  test("a step of a kind that this schema does not know is passed over", () => {
    const { trajectory, follower } = started();
    // 250: no such type yet
    trajectory.steps.splice(2, 0, create(CortexTrajectoryStepSchema, { type: 250 as never, status: 3 }));
    trajectory.write("fine");
    trajectory.finish();
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ type: "finished", text: "fine" });
  });

  test("an error step fails the turn once the server has stopped, and keeps the text", () => {
    const { trajectory, follower } = started();
    trajectory.write("so far");
    trajectory.closePlanner(CortexStepStatus.ERROR);
    trajectory.fail("Reached message rate limit");
    follower.poll();
    expect(follower.ended).toBe(false);
    trajectory.stop(ExecutorTerminationReason.ERROR);
    follower.poll();
    expect(follower.events).toEqual([
      { type: "text", delta: "so far" },
      { type: "failed", error: expect.objectContaining({ code: "rate_limited" }) },
    ]);
  });

  test("an error that the planner got over is forgotten, and what the broken attempt wrote is not in the answer", () => {
    const { trajectory, follower } = started();
    trajectory.write("brok");
    follower.poll();
    trajectory.closePlanner(CortexStepStatus.ERROR);
    trajectory.fail("try again");
    trajectory.plan();
    trajectory.write("whole");
    trajectory.finish();
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ type: "finished", text: "whole" });
    expect(replay(follower.events).text).toBe("whole");
  });

  test("a benign error is no error", () => {
    const { trajectory, follower } = started();
    trajectory.write("ok");
    trajectory.fail("never mind", true);
    trajectory.finish();
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ type: "finished" });
  });

  test("the stop button in the IDE is a failure: the client cancelled nothing", () => {
    const { trajectory, follower } = started();
    trajectory.write("par");
    trajectory.closePlanner(CortexStepStatus.CANCELED);
    trajectory.stop(ExecutorTerminationReason.USER_CANCELED);
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ type: "failed", error: { code: "upstream_failed" } });
  });

  test.each([
    [ExecutorTerminationReason.MAX_INVOCATIONS, { unified: "length", raw: "max_invocations" }],
    [ExecutorTerminationReason.ARENA_INVOCATION_CAP, { unified: "length", raw: "arena_invocation_cap" }],
    [ExecutorTerminationReason.HALTED_STEP, { unified: "stop", raw: "halted_step" }],
  ])("termination reason %i is reported in our words and in the server's", (reason, expected) => {
    const { trajectory, follower } = started();
    trajectory.write("x");
    trajectory.closePlanner();
    trajectory.stop(reason);
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ type: "finished", reason: expected });
  });

  test("an answer without text, call or tool step fails by name", () => {
    const { trajectory, follower } = started();
    trajectory.think("I could say something");
    trajectory.finish();
    follower.poll();
    const unusable = { code: "upstream_failed", details: { reason: unusableAnswer } };
    expect(follower.events.at(-1)).toMatchObject({ type: "failed", error: unusable });
  });

  test("a turn without any planner step fails, with a checkpoint and without", () => {
    const marked = new FakeTrajectory();
    marked.accept("hi");
    const follower = follow(marked);
    marked.checkpoint();
    marked.stop();
    follower.poll();
    expect(follower.events).toEqual([expect.objectContaining({ type: "failed" })]);

    const silent = new FakeTrajectory();
    silent.accept("hi");
    silent.stop();
    const other = follow(silent);
    other.pollToEnd();
    expect(other.events).toEqual([expect.objectContaining({ type: "failed" })]);
  });

  test("text of a sub-agent is not the answer's", () => {
    const { trajectory, follower } = started();
    const { step } = trajectory.planner;
    const inner = new FakeTrajectory();
    inner.plan();
    inner.write("inner");
    step.subtrajectories.push({ $typeName: "exa.cortex_pb.CortexTrajectory", steps: inner.steps } as never); // only its steps matter
    trajectory.write("outer");
    trajectory.finish();
    follower.poll();
    expect(follower.events.at(-1)).toMatchObject({ type: "finished", text: "outer" });
  });

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

describe("followSteps, with any server", () => {
  const piece = fc.string({ unit: fc.constantFrom("a", "b", " ", "é", "🙂"), minLength: 1, maxLength: 5 });
  const act = fc.oneof(
    fc.record({ do: fc.constant("write" as const), text: piece }),
    fc.record({ do: fc.constant("think" as const), text: piece }),
    fc.record({ do: fc.constant("rewrite" as const), text: piece }),
    fc.record({ do: fc.constant("insert" as const), at: fc.nat(4) }),
    fc.record({ do: fc.constant("plan" as const) }),
    fc.record({ do: fc.constant("poll" as const) }),
    fc.record({ do: fc.constant("compact" as const) }),
    fc.record({ do: fc.constant("reset" as const) }),
  );

  test("what was emitted plus the rewrites is the final text, thinking is never repeated, and one event is terminal", () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), fc.boolean(), (acts, second) => {
        const trajectory = new FakeTrajectory();
        if (second) {
          trajectory.accept("before");
          trajectory.plan();
          trajectory.write("earlier turn");
          trajectory.finish();
        }
        const fromStep = trajectory.steps.length;
        const follower = follow(trajectory, { fromStep, fresh: !second });
        trajectory.accept("hi");
        trajectory.plan();
        let rewrittenThinking = false;
        for (const action of acts) {
          if (action.do === "write") trajectory.write(action.text);
          if (action.do === "think") trajectory.think(action.text);
          if (action.do === "rewrite") trajectory.setText(action.text);
          if (action.do === "insert") trajectory.memory(Math.min(fromStep + action.at, trajectory.steps.length));
          if (action.do === "plan") {
            trajectory.closePlanner();
            trajectory.plan();
          }
          if (action.do === "compact") {
            trajectory.closePlanner();
            trajectory.checkpoint();
            trajectory.plan();
          }
          if (action.do === "reset") {
            trajectory.setText("");
            rewrittenThinking ||= trajectory.planner.response.thinking !== "";
            trajectory.planner.response.thinking = "";
          }
          if (action.do === "poll") follower.poll();
        }
        trajectory.finish();
        follower.pollToEnd();
        follower.poll();

        const terminals = follower.events.filter(isTerminal);
        const whole = trajectory.text === "" ? { type: "failed" } : { type: "finished", text: trajectory.text };
        expect(terminals).toEqual([expect.objectContaining(whole)]);
        expect(follower.events.at(-1)).toBe(terminals[0]);
        const { text, thinking } = replay(follower.events);
        expect(trajectory.text === "" ? "" : text).toBe(trajectory.text); // a failed turn takes nothing back
        const shown = trajectory.steps
          .slice(fromStep)
          .map((s) => (s.step.case === "plannerResponse" ? s.step.value.thinking : ""))
          .filter((t) => t !== "")
          .join("\n\n");
        expect(rewrittenThinking || shown.startsWith(thinking)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
