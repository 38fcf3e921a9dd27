import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { unusableAnswer } from "../../base/errors.ts";
import {
  CortexStepStatus,
  CortexTrajectoryStepSchema,
  ExecutorTerminationReason,
} from "../../proto/windsurf/exa/cortex_pb.ts";
import { replay } from "../replay.fake.ts";
import { FakeTrajectory } from "../trajectory.fake.ts";
import { follow, started } from "./follow-steps.fake.ts";

describe("followSteps at what ends a turn", () => {
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
});
