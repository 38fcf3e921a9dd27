import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  CascadeRunStatus,
  ExecutorMetadataSchema,
  ExecutorTerminationReason,
} from "../../proto/windsurf/exa/cortex_pb.ts";
import { emptyAnswer } from "../answer-diff.ts";
import { advance, report, startProgress, wantsRun } from "./turn-progress.ts";
import { emptyView, type RunSnapshot, type TurnView } from "./turn-view.ts";

const asked = (atMs: number) =>
  ({ kind: "run", status: CascadeRunStatus.RUNNING, executors: [], restarted: false, atMs }) as const;

test("the run status is asked a second after the last sign of life, then four times a second", () => {
  const silent = { ...startProgress(emptyAnswer), changedAtMs: 0 };
  expect([999, 1_000].map((atMs) => wantsRun(silent, atMs))).toEqual([false, true]);
  const askedOnce = { ...silent, run: asked(1_000) };
  expect([1_001, 1_249, 1_250].map((atMs) => wantsRun(askedOnce, atMs))).toEqual([false, false, true]);
  expect(wantsRun({ ...askedOnce, changedAtMs: 1_100 }, 1_300)).toBe(false); // text flows again
});

const view: TurnView = { ...emptyView, prompted: true, answer: { text: "Half", thinking: "" }, phase: "followed" };
const errorOf = () => {
  throw new Error("the view has no error");
};

test.each([
  ["ERROR", { type: "failed" }],
  ["USER_CANCELED", { type: "failed" }],
  ["HOOK_BLOCKED", { type: "failed" }],
  ["MAX_INVOCATIONS", { type: "finished", reason: { unified: "length" } }],
  ["ARENA_INVOCATION_CAP", { type: "finished", reason: { unified: "length" } }],
  ["NO_TOOL_CALL", { type: "finished", reason: { unified: "stop" } }],
  ["HALTED_STEP", { type: "finished", reason: { unified: "stop" } }],
] as const)("the end of a turn follows the reason %s of its execution, not the state of its answer", (name, end) => {
  const executors = [create(ExecutorMetadataSchema, { terminationReason: ExecutorTerminationReason[name] })];
  const run: RunSnapshot = { kind: "run", status: CascadeRunStatus.IDLE, executors, restarted: false, atMs: 0 };
  const closing = { ...startProgress(emptyAnswer), phase: "closing", view, run, changedAtMs: 0 } as const;
  expect(advance(closing, view, 1_000, true, errorOf).events.at(-1)).toMatchObject(end);
});

test("an idle server ends a turn without an answer after ten seconds and four reports, one that restarted after a second and two", () => {
  const phases = (times: readonly number[], restarted: boolean) => {
    let progress = { ...startProgress(emptyAnswer), view: { ...emptyView, prompted: true }, changedAtMs: 0 };
    return times.map((atMs) => {
      progress = report(progress, {
        kind: "run",
        status: CascadeRunStatus.IDLE,
        executors: [],
        restarted,
        atMs,
      }) as typeof progress;
      return progress.phase;
    });
  };
  expect(phases([0, 10_000, 20_000, 30_000], false)).toEqual(["following", "following", "following", "closing"]);
  expect(phases([0, 3_000, 6_000, 9_999, 10_000], false).at(-2)).toBe("following");
  expect(phases([0, 3_000, 6_000, 10_000], false).at(-1)).toBe("closing");
  expect(phases([0, 999, 1_000], true)).toEqual(["following", "following", "closing"]);
});
