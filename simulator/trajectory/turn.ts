import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { Clock } from "../../src/base/clock.ts";
import type { ImageData, TextOrScopeItem } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import {
  CascadeRunStatus,
  CortexStepStatus,
  type CortexTrajectoryStep,
  ExecutorMetadataSchema,
  ExecutorTerminationReason,
} from "../../src/proto/windsurf/exa/cortex_pb.ts";
import type { TurnPlan } from "../faults/turn-plan.ts";
import {
  answerPace,
  playAnswer,
  playTools,
  type Stage,
  TurnFailure,
  type TurnReason,
  toolStep,
} from "../model/engine.ts";
import type { Gate } from "../model/gate.ts";
import type { GrowthMark } from "../model/growth.ts";
import type { ModelPrompt } from "../model/model.ts";
import { PlannerCall } from "./planner-call.ts";
import * as steps from "./steps.ts";
import type { Trajectory } from "./trajectory.ts";

/** One accepted user message. */
export interface TurnInput {
  readonly prompt: ModelPrompt;
  readonly items: TextOrScopeItem[];
  readonly images: ImageData[];
  readonly requestedModelUid: string;
  /** Finished steps that the client put before its message. */
  readonly additionalSteps: CortexTrajectoryStep[];
  /** Ends the turn before the model is asked: a model that cannot be called, an unknown key, a mistyped directive. */
  readonly refusal: TurnReason | undefined;
  /** The planner has no type: nothing is generated. Source: docs/dev/wire/cascade.md, "Rules of sending". */
  readonly silent: boolean;
  /** Hundredths of a credit that the turn costs. */
  readonly costHundredths: number;
}

/** The parts of the server that a turn uses. */
export interface TurnServices {
  readonly clock: Clock;
  readonly newId: () => string;
  /** Called whenever a step was added or finished. */
  readonly saved: (trajectory: Trajectory) => void;
  readonly spend: (hundredths: number) => void;
  readonly gate: Gate;
  /** Ends this process; a new one takes its place. */
  readonly restart: () => void;
}

/**
 * Runs one turn on a trajectory to its end: adds steps, grows the planner's text, ends IDLE. Aborting the signal is the
 * user's cancel: the running step ends CANCELED and keeps its text.
 * Source: docs/dev/wire/cascade.md, "Time line of a turn", "Cancelling".
 */
export async function runTurn(
  trajectory: Trajectory,
  input: TurnInput,
  services: TurnServices,
  signal: AbortSignal,
): Promise<void> {
  await new TurnRun(trajectory, input, services, signal).run();
}

/** The phases of a turn in order, over one trajectory. */
class TurnRun implements Stage {
  readonly #trajectory: Trajectory;
  readonly #input: TurnInput;
  readonly #services: TurnServices;
  readonly #signal: AbortSignal;
  readonly #executionId: string;
  readonly released: Promise<void>;
  #planner: PlannerCall | undefined;
  #plannerCalls = 0;
  #thinkingAtMs: number | undefined;

  constructor(trajectory: Trajectory, input: TurnInput, services: TurnServices, signal: AbortSignal) {
    this.#trajectory = trajectory;
    this.#input = input;
    this.#services = services;
    this.#signal = signal;
    this.#executionId = services.newId();
    this.released = services.gate.opens;
  }

  async run(): Promise<void> {
    const { silent } = this.#input;
    let reason: ExecutorTerminationReason = ExecutorTerminationReason.NO_TOOL_CALL;
    try {
      await this.#acceptInput();
      if (!silent) await this.#answer();
      if (!silent && this.#plan.checkpoint !== false) this.#addCheckpoint();
    } catch (error) {
      reason = this.#signal.aborted ? ExecutorTerminationReason.USER_CANCELED : ExecutorTerminationReason.ERROR;
      if (this.#signal.aborted) this.#finishPlanner(CortexStepStatus.CANCELED);
      else this.#fail(error instanceof TurnFailure ? error.reason : { text: String(error) });
    }
    const trajectory = this.#trajectory;
    trajectory.executorMetadatas.push(
      create(ExecutorMetadataSchema, {
        terminationReason: reason,
        numGeneratorInvocations: this.#plannerCalls,
        lastStepIdx: trajectory.steps.length - 1,
      }),
    );
    trajectory.status = CascadeRunStatus.IDLE;
    this.#changed();
  }

  get clock(): Clock {
    return this.#services.clock;
  }

  get #plan(): TurnPlan {
    return this.#input.prompt.plan;
  }

  get #context(): steps.StepContext {
    return {
      nowMs: this.clock.now(),
      executionId: this.#executionId,
      modelUid: this.#input.prompt.modelUid,
      requestedModelUid: this.#input.requestedModelUid,
    };
  }

  async #acceptInput(): Promise<void> {
    const { clock } = this;
    const { inputMs, firstMs } = answerPace(this.#plan);
    const trajectory = this.#trajectory;
    const first = trajectory.steps.length === 0;
    if (inputMs > 0) await clock.sleep(inputMs, this.#signal);
    trajectory.status = CascadeRunStatus.RUNNING;
    const { shuffle = false, jump = false, errorText, flicker = 0 } = this.#plan;
    trajectory.idleFlickers = flicker;
    trajectory.transcriptQuirks = { shuffle, jump, errorText };
    trajectory.lastInputAtMs = clock.now();
    trajectory.lastModelUid = this.#input.prompt.modelUid;
    trajectory.steps.push(...this.#input.additionalSteps);
    this.#add(steps.retrieveMemoryStep(this.#context));
    if (first) this.#add(steps.memoryStep(this.#context, this.#services.newId()));
    const { prompt, items, images, refusal } = this.#input;
    this.#add(steps.userInputStep(this.#context, prompt.text, items, images));
    if (refusal !== undefined) throw new TurnFailure(refusal);
    this.#services.spend(this.#input.costHundredths);
    if (firstMs > 0) await clock.sleep(firstMs, this.#signal);
  }

  async #answer(): Promise<void> {
    const { prompt } = this.#input;
    if (!(await playTools(prompt, this, this.#signal))) return;
    this.#startPlanner();
    await playAnswer(prompt, this, this.#signal);
    this.#endThinking();
    this.#finishPlanner(CortexStepStatus.DONE);
  }

  marks(plan: TurnPlan): readonly GrowthMark[] {
    const at = (length: number | undefined, act: () => void) => (length === undefined ? [] : [{ at: length, act }]);
    return [
      ...at(plan.insertAfter, () => this.#insertMemory()),
      ...at(plan.rewriteAfter, () => this.#planner?.rewrite()),
    ];
  }

  #startPlanner(): void {
    this.#planner = new PlannerCall(this.#context, this.#services.newId());
    this.#add(this.#planner.step);
  }

  think(piece: string): void {
    this.#thinkingAtMs ??= this.clock.now();
    if (this.#planner !== undefined) this.#planner.response.thinking += piece;
  }

  #endThinking(): void {
    if (this.#planner === undefined || this.#thinkingAtMs === undefined) return;
    this.#planner.response.thinkingDuration = durationFromMs(Math.round(this.clock.now() - this.#thinkingAtMs));
    this.#thinkingAtMs = undefined;
  }

  shown(text: string): string {
    this.#endThinking();
    return text;
  }

  say(piece: string): void {
    if (this.#planner !== undefined) this.#planner.response.response += piece;
    this.#trajectory.modifiedAtMs = this.clock.now();
  }

  #finishPlanner(status: CortexStepStatus): void {
    const planner = this.#planner;
    if (planner === undefined) return;
    this.#planner = undefined;
    const nowMs = this.clock.now();
    planner.finish(status, nowMs, { modified: this.#plan.modified === true });
    const { prompt, requestedModelUid, costHundredths } = this.#input;
    this.#trajectory.generatorMetadata.push(
      planner.generatorMetadata({
        prompt,
        workspaceUri: this.#trajectory.workspaceUri,
        requestedModelUid,
        executionId: this.#executionId,
        stepIndex: this.#trajectory.steps.indexOf(planner.step),
        creditCost: this.#plannerCalls === 0 ? costHundredths : 0,
        nowMs,
      }),
    );
    this.#plannerCalls++;
    this.#changed();
  }

  async tool(): Promise<void> {
    const callId = `toolu_${this.#services.newId().replaceAll("-", "").slice(0, 24)}`;
    const uri = this.#trajectory.workspaceUri;
    this.#startPlanner();
    this.say(this.#plan.toolText ?? "");
    this.#planner?.response.toolCalls.push(steps.listDirectoryCall(callId, uri));
    this.#finishPlanner(CortexStepStatus.DONE);
    const step = steps.listDirectoryStep(this.#context, callId, uri);
    this.#add(step);
    await toolStep(this.#plan, this.clock, this.#signal);
    step.status = CortexStepStatus.DONE;
    this.#changed();
  }

  ask(): void {
    const step = steps.waitingCommandStep(this.#context, this.#services.newId());
    this.#add(step);
    const cancelled = () => {
      step.status = CortexStepStatus.CANCELED;
    };
    this.#signal.addEventListener("abort", cancelled, { once: true });
  }

  #insertMemory(): void {
    const at = this.#trajectory.steps.findLastIndex((step) => step.step.case === "userInput");
    this.#trajectory.steps.splice(at, 0, steps.memoryStep(this.#context, this.#services.newId()));
    this.#changed();
  }

  /** The answer continues in a separate step. */
  compact(): void {
    this.#finishPlanner(CortexStepStatus.DONE);
    this.#addCheckpoint();
    this.#startPlanner();
  }

  async restart(): Promise<void> {
    this.#services.restart();
    await this.clock.sleep(60_000, this.#signal);
  }

  #addCheckpoint(): void {
    const { steps: all } = this.#trajectory;
    const title = this.#input.prompt.text.replaceAll(/\s+/g, " ").trim().slice(0, 60);
    if (this.#trajectory.title === "") this.#trajectory.title = title;
    const index = all.filter((step) => step.step.case === "checkpoint").length;
    this.#add(steps.checkpointStep(this.#context, index, all.length, this.#trajectory.title));
  }

  #fail(reason: TurnReason): void {
    const details = steps.errorDetails(reason, this.#services.newId().replaceAll("-", ""));
    const planner = this.#planner;
    const inField = planner !== undefined && this.#plan.errorAt === "field";
    if (inField) planner.step.error = details;
    this.#finishPlanner(CortexStepStatus.ERROR);
    if (!inField) this.#add(steps.errorStep(this.#context, details));
  }

  #add(step: CortexTrajectoryStep): void {
    this.#trajectory.steps.push(step);
    this.#changed();
  }

  #changed(): void {
    this.#trajectory.modifiedAtMs = this.clock.now();
    this.#services.saved(this.#trajectory);
  }
}
