import { FakeClock } from "../../src/base/clock.fake.ts";
import type { CascadeId } from "../../src/base/ids.ts";
import { CortexTrajectorySource, CortexTrajectoryType } from "../../src/proto/windsurf/exa/cortex_pb.ts";
import type { TurnPlan } from "../faults/turn-plan.ts";
import { Gate } from "../model/gate.ts";
import { answerOf, kindsOf } from "../rpc-client.fake.ts";
import { Trajectory } from "./trajectory.ts";
import { renderTranscript } from "./transcript.ts";
import { runTurn, type TurnInput } from "./turn.ts";

/** A turn on a fresh trajectory under a clock that the test moves. */
export function begin(text: string, plan: TurnPlan, input: Partial<TurnInput> = {}, gate = new Gate()) {
  const clock = new FakeClock();
  const cancel = new AbortController();
  let ids = 0;
  let spent = 0;
  let restarts = 0;
  const trajectory = new Trajectory({
    cascadeId: "cascade" as CascadeId,
    trajectoryId: "trajectory",
    createdAtMs: clock.now(),
    source: CortexTrajectorySource.CASCADE_CLIENT,
    type: CortexTrajectoryType.CASCADE,
    workspaceUri: "file:///home/user/project",
  });
  const prompt = {
    text,
    asked: text,
    instructions: "",
    history: [],
    images: [],
    modelUid: "swe-1-6",
    modelLabel: "SWE-1.6",
    thinks: false,
    outputLimit: undefined,
    plan,
  };
  const ended = runTurn(
    trajectory,
    {
      prompt,
      items: [],
      images: [],
      requestedModelUid: "swe-1-6",
      additionalSteps: [],
      refusal: undefined,
      silent: false,
      costHundredths: 150,
      ...input,
    },
    {
      clock,
      newId: () => `id-${++ids}`,
      saved: () => {},
      spend: (hundredths) => {
        spent += hundredths;
      },
      restart: () => {
        restarts++;
      },
      gate,
    },
    cancel.signal,
  );
  const kinds = () => kindsOf(trajectory.steps);
  const transcript = () => renderTranscript(trajectory.steps, { offset: 0, quirks: trajectory.transcriptQuirks });
  const planner = () => trajectory.steps.findLast((step) => step.step.case === "plannerResponse");
  return {
    clock,
    cancel,
    gate,
    trajectory,
    ended,
    kinds,
    transcript,
    planner,
    answer: () => answerOf(trajectory.steps),
    spent: () => spent,
    restarts: () => restarts,
  };
}

export const wholeTurn = ["retrieveMemory", "memory", "userInput", "plannerResponse", "checkpoint"];
