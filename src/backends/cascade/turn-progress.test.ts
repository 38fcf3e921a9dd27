import { expect, test } from "vitest";
import { CascadeRunStatus } from "../../proto/windsurf/exa/cortex_pb.ts";
import { emptyAnswer } from "../answer-diff.ts";
import { startProgress, wantsRun } from "./turn-progress.ts";

const asked = (atMs: number) =>
  ({ kind: "run", status: CascadeRunStatus.RUNNING, executors: [], restarted: false, atMs }) as const;

test("the run status is asked a second after the last sign of life, then four times a second", () => {
  const silent = { ...startProgress(emptyAnswer), changedAtMs: 0 };
  expect([999, 1_000].map((atMs) => wantsRun(silent, atMs))).toEqual([false, true]);
  const askedOnce = { ...silent, run: asked(1_000) };
  expect([1_001, 1_249, 1_250].map((atMs) => wantsRun(askedOnce, atMs))).toEqual([false, false, true]);
  expect(wantsRun({ ...askedOnce, changedAtMs: 1_100 }, 1_300)).toBe(false); // text flows again
});
