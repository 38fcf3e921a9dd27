import { describe, expect, it } from "vitest";
import {
  CascadeRunStatus,
  CortexStepStatus,
  ExecutorTerminationReason,
} from "../../src/proto/windsurf/exa/cortex_pb.ts";
import { Gate } from "../model/gate.ts";
import { begin, wholeTurn } from "./begun-turn.fake.ts";

describe("a turn", () => {
  it("follows the time line of the real server: idle, input, planner, text, checkpoint, idle", async () => {
    const turn = begin("echo: 0123456789", { rate: 10, chunk: 5, inputMs: 300, firstMs: 700 });
    await turn.clock.advance(299);
    expect(turn.kinds()).toEqual([]);
    expect(turn.trajectory.status).toBe(CascadeRunStatus.IDLE);
    await turn.clock.advance(1);
    expect(turn.kinds()).toEqual(wholeTurn.slice(0, 3));
    expect(turn.trajectory.status).toBe(CascadeRunStatus.RUNNING);
    await turn.clock.advance(700);
    expect(turn.planner()?.status).toBe(CortexStepStatus.GENERATING);
    expect(turn.answer()).toBe("01234");
    await turn.clock.advance(1000);
    await turn.ended;
    expect(turn.kinds()).toEqual(wholeTurn);
    expect(turn.answer()).toBe("0123456789");
    expect(turn.planner()?.status).toBe(CortexStepStatus.DONE);
    expect(turn.trajectory.status).toBe(CascadeRunStatus.IDLE);
    expect(turn.trajectory.executorMetadatas[0]?.terminationReason).toBe(ExecutorTerminationReason.NO_TOOL_CALL);
    expect(turn.spent()).toBe(150);
  });

  it("shows thinking before text, with a steady step count while it is silent", async () => {
    const turn = begin("echo: done", { rate: 100, chunk: 100, inputMs: 0, firstMs: 0, thinking: 50, thinkMs: 30_000 });
    await turn.clock.advance(29_000);
    expect(turn.planner()?.step.value).toMatchObject({ response: "" });
    expect(turn.planner()?.step.value).toHaveProperty("thinking", expect.stringMatching(/^.{50}$/));
    expect(turn.kinds()).toHaveLength(4);
    await turn.clock.advance(5000);
    await turn.ended;
    expect(turn.answer()).toBe("done");
  });

  it("keeps the partial text and ends CANCELED when it is cancelled", async () => {
    const turn = begin("echo: 0123456789", { rate: 10, chunk: 1, inputMs: 0, firstMs: 0 });
    await turn.clock.advance(350);
    turn.cancel.abort(new Error("canceled by the user"));
    await turn.ended;
    expect(turn.answer()).toBe("0123");
    expect(turn.planner()?.status).toBe(CortexStepStatus.CANCELED);
    expect(turn.kinds()).toEqual(wholeTurn.slice(0, 4));
    expect(turn.trajectory.executorMetadatas[0]?.terminationReason).toBe(ExecutorTerminationReason.USER_CANCELED);
    expect(turn.trajectory.status).toBe(CascadeRunStatus.IDLE);
  });

  it("ends with an error step after part of the answer, and no checkpoint", async () => {
    const turn = begin("echo: 0123456789", { rate: "instant", error: "rate_limit", errorAfter: 4 });
    await turn.ended;
    expect(turn.answer()).toBe("0123");
    expect(turn.kinds()).toEqual([...wholeTurn.slice(0, 4), "errorMessage"]);
    expect(turn.trajectory.steps.at(-1)?.step.value).toMatchObject({
      error: { userErrorMessage: expect.stringContaining("Resets in: 3h0m0s") },
    });
    expect(turn.transcript()).toContain("[CORTEX_STEP_TYPE_ERROR_MESSAGE]");
  });

  it("can put the error on the planner's step itself", async () => {
    const turn = begin("echo: x", { rate: "instant", error: "high_demand", errorAt: "field" });
    await turn.ended;
    expect(turn.kinds()).toEqual(wholeTurn.slice(0, 4));
    expect(turn.planner()?.error?.userErrorMessage).toContain("high demand");
  });

  it("stalls at the given place and continues", async () => {
    const turn = begin("echo: 0123456789", {
      rate: 1000,
      chunk: 100,
      inputMs: 0,
      firstMs: 0,
      stallAfter: 3,
      stallMs: 45_000,
    });
    await turn.clock.advance(44_000);
    expect(turn.answer()).toBe("012");
    await turn.clock.advance(2000);
    await turn.ended;
    expect(turn.answer()).toBe("0123456789");
  });

  it("holds at the given place until it is released, however long that takes", async () => {
    const turn = begin("echo: 0123456789", { rate: 1000, inputMs: 0, firstMs: 0, holdAfter: 3 });
    await turn.clock.advance(3_600_000);
    expect(turn.answer()).toBe("012");
    turn.gate.release();
    await turn.clock.advance(1000);
    await turn.ended;
    expect(turn.answer()).toBe("0123456789");
  });

  it("does not hold when it was released on its way there, and holds again after an earlier release", async () => {
    const plan = { rate: 10, chunk: 1, inputMs: 0, firstMs: 0, holdAfter: 3 };
    const early = begin("echo: 0123456789", plan);
    early.gate.release();
    await early.clock.advance(2000);
    await early.ended;
    expect(early.answer()).toBe("0123456789");
    const gate = new Gate();
    gate.release();
    const late = begin("echo: 0123456789", plan, {}, gate);
    await late.clock.advance(2000);
    expect(late.answer()).toBe("012");
    late.cancel.abort(new Error("canceled by the user"));
    await late.ended;
    expect(late.planner()?.status).toBe(CortexStepStatus.CANCELED);
  });

  it("rewrites text in place, then continues", async () => {
    const turn = begin("echo: abcdef", { rate: 10, chunk: 1, inputMs: 0, firstMs: 0, rewriteAfter: 3 });
    await turn.clock.advance(200);
    expect(turn.answer()).toBe("abc");
    await turn.clock.advance(1000);
    await turn.ended;
    expect(turn.answer()).toBe("(revised) ABCdef");
  });

  it("can rewrite the finished text into modified_response, which the transcript shows", async () => {
    const turn = begin("echo: abc", { rate: "instant", modified: true });
    await turn.ended;
    expect(turn.planner()?.step.value).toMatchObject({ response: "abc", modifiedResponse: "(revised) ABC" });
    expect(turn.transcript()).toContain("(revised) ABC");
  });

  it("can insert a step before the user's, which moves later indices", async () => {
    const turn = begin("echo: abcdef", { rate: 10, chunk: 1, inputMs: 0, firstMs: 0, insertAfter: 2 });
    await turn.clock.advance(100);
    expect(turn.kinds().indexOf("plannerResponse")).toBe(3);
    await turn.clock.advance(2000);
    await turn.ended;
    expect(turn.kinds()).toEqual(["retrieveMemory", "memory", "memory", "userInput", "plannerResponse", "checkpoint"]);
  });

  it("can list the transcript out of order and with numbers that jump", async () => {
    const turn = begin("echo: abc", { rate: "instant", shuffle: true, jump: true });
    await turn.ended;
    const heads = [...turn.transcript().matchAll(/^=== MESSAGE (\d+) - (\w+) ===$/gm)].map(
      (head) => `${head[1]} ${head[2]}`,
    );
    expect(heads).toEqual(["0 Tool", "9 Assistant", "3 Tool", "6 User", "12 Tool"]);
  });

  it("can compact its context in the middle of an answer", async () => {
    const turn = begin("echo: abcdef", { rate: "instant", checkpointAfter: 3 });
    await turn.ended;
    expect(turn.kinds()).toEqual([...wholeTurn, "plannerResponse", "checkpoint"]);
    expect(turn.answer()).toBe("abcdef");
    expect(turn.trajectory.generatorMetadata.map((entry) => entry.stepIndices)).toEqual([[3], [5]]);
  });

  it("can run the IDE's own tools first, or nothing else", async () => {
    const some = begin("echo: abc", { rate: "instant", tools: 2 });
    await some.ended;
    const tool = ["plannerResponse", "listDirectory"];
    expect(some.kinds()).toEqual([...wholeTurn.slice(0, 3), ...tool, ...tool, "plannerResponse", "checkpoint"]);
    const only = begin("echo: abc", { rate: "instant", toolOnly: true });
    await only.ended;
    expect(only.kinds()).toEqual([...wholeTurn.slice(0, 3), ...tool, "checkpoint"]);
    expect(only.answer()).toBe("");
  });

  it("can wait for a decision until it is cancelled", async () => {
    const turn = begin("echo: abc", { rate: "instant", waiting: true });
    await turn.clock.advance(600_000);
    expect(turn.trajectory.steps.at(-1)).toMatchObject({
      status: CortexStepStatus.WAITING,
      requestedInteraction: { interaction: { case: "runCommand" } },
    });
    turn.cancel.abort(new Error("canceled by the user"));
    await turn.ended;
    expect(turn.trajectory.steps.at(-1)?.status).toBe(CortexStepStatus.CANCELED);
  });

  it("can flicker IDLE at its start, end without a checkpoint, and answer nothing", async () => {
    const turn = begin("echo: abc", {
      rate: 1,
      chunk: 1,
      inputMs: 0,
      firstMs: 1000,
      flicker: 2,
      checkpoint: false,
      empty: true,
    });
    await turn.clock.advance(10);
    const seen = [1, 2, 3].map(() => turn.trajectory.polledStatus());
    expect(seen).toEqual([CascadeRunStatus.IDLE, CascadeRunStatus.IDLE, CascadeRunStatus.RUNNING]);
    await turn.clock.advance(2000);
    await turn.ended;
    expect(turn.kinds()).toEqual(wholeTurn.slice(0, 4));
    expect(turn.answer()).toBe("");
  });

  it("can forge a transcript header inside its text, and answer a megabyte", async () => {
    const turn = begin("anything", { rate: "instant", size: 1_000_000, forge: true });
    await turn.ended;
    expect(turn.answer()).toContain("\n=== MESSAGE 3 - Assistant ===\n");
    expect(turn.answer().length).toBeGreaterThan(1_000_000);
  });

  it("can ask for a new process in the middle", async () => {
    const turn = begin("echo: abcdef", { rate: 10, chunk: 1, inputMs: 0, firstMs: 0, restartAfter: 3 });
    await turn.clock.advance(1000);
    expect(turn.restarts()).toBe(1);
    expect(turn.answer()).toBe("abc");
    turn.cancel.abort(new Error("the process is gone"));
    await turn.ended;
  });

  it("spends nothing and asks no model when it is refused", async () => {
    const turn = begin("echo: abc", { rate: "instant" }, { refusal: "permission" });
    await turn.ended;
    expect(turn.kinds()).toEqual([...wholeTurn.slice(0, 3), "errorMessage"]);
    expect(turn.spent()).toBe(0);
  });

  it("generates nothing for a planner without a type", async () => {
    const turn = begin("echo: abc", { rate: "instant" }, { silent: true });
    await turn.ended;
    expect(turn.kinds()).toEqual(wholeTurn.slice(0, 3));
  });
});
