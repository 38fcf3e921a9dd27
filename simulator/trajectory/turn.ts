import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { orAborted } from "../../src/base/async.ts";
import type { Clock } from "../../src/base/clock.ts";
import type { ImageData, TextOrScopeItem } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import {
  CascadeRunStatus,
  CortexStepStatus,
  type CortexTrajectoryStep,
  ExecutorMetadataSchema,
  ExecutorTerminationReason,
} from "../../src/proto/windsurf/exa/cortex_pb.ts";
import type { ErrorName } from "../faults/error-texts.ts";
import type { TurnPlan } from "../faults/turn-plan.ts";
import type { Model, ModelPrompt } from "../model/model.ts";
import type { Gate } from "./gate.ts";
import { Growth, type GrowthMark } from "./growth.ts";
import { answerPace } from "./pace.ts";
import { PlannerCall, type PlannerUsage } from "./planner-call.ts";
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
  readonly refusal: ErrorName | { readonly text: string } | undefined;
  /** The planner has no type: nothing is generated. Source: docs/dev/wire/cascade.md, "Rules of sending". */
  readonly silent: boolean;
  /** Hundredths of a credit that the turn costs. */
  readonly costHundredths: number;
}

/** The parts of the server that a turn uses. */
export interface TurnServices {
  readonly clock: Clock;
  readonly model: Model;
  readonly newId: () => string;
  /** Called whenever a step was added or finished. */
  readonly saved: (trajectory: Trajectory) => void;
  readonly spend: (hundredths: number) => void;
  readonly gate: Gate;
  /** Ends this process; a new one takes its place. */
  readonly restart: () => void;
}

/** Stops a turn with an error that the user sees. */
class TurnFailure extends Error {
  readonly reason: ErrorName | { readonly text: string };
  constructor(reason: ErrorName | { readonly text: string }) {
    super(typeof reason === "string" ? reason : reason.text);
    this.reason = reason;
  }
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

/** Longer than 300 lines: the phases of a turn in order, over one trajectory. */
class TurnRun {
  readonly #trajectory: Trajectory;
  readonly #input: TurnInput;
  readonly #services: TurnServices;
  readonly #signal: AbortSignal;
  readonly #executionId: string;
  readonly #released: Promise<void>;
  #planner: PlannerCall | undefined;
  #plannerCalls = 0;

  constructor(trajectory: Trajectory, input: TurnInput, services: TurnServices, signal: AbortSignal) {
    this.#trajectory = trajectory;
    this.#input = input;
    this.#services = services;
    this.#signal = signal;
    this.#executionId = services.newId();
    this.#released = services.gate.opens;
  }

  async run(): Promise<void> {
    let reason: ExecutorTerminationReason = ExecutorTerminationReason.NO_TOOL_CALL;
    try {
      await this.#acceptInput();
      if (!this.#input.silent) await this.#answer();
      if (!this.#input.silent && this.#plan.checkpoint !== false) this.#addCheckpoint();
    } catch (error) {
      if (this.#signal.aborted) {
        reason = ExecutorTerminationReason.USER_CANCELED;
        this.#cancel();
      } else {
        reason = ExecutorTerminationReason.ERROR;
        this.#fail(error instanceof TurnFailure ? error.reason : { text: messageOf(error) });
      }
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

  get #plan(): TurnPlan {
    return this.#input.prompt.plan;
  }

  get #context(): steps.StepContext {
    return {
      nowMs: this.#services.clock.now(),
      executionId: this.#executionId,
      modelUid: this.#input.prompt.modelUid,
      requestedModelUid: this.#input.requestedModelUid,
    };
  }

  async #acceptInput(): Promise<void> {
    const { clock, newId } = this.#services;
    const pace = answerPace(this.#plan);
    const trajectory = this.#trajectory;
    const first = trajectory.steps.length === 0;
    if (pace.inputMs > 0) await clock.sleep(pace.inputMs, this.#signal);
    trajectory.status = CascadeRunStatus.RUNNING;
    trajectory.idleFlickers = this.#plan.flicker ?? 0;
    const { shuffle = false, jump = false, errorText } = this.#plan;
    trajectory.transcriptQuirks = { shuffle, jump, errorText };
    trajectory.lastInputAtMs = clock.now();
    trajectory.lastModelUid = this.#input.prompt.modelUid;
    trajectory.steps.push(...this.#input.additionalSteps);
    this.#add(steps.retrieveMemoryStep(this.#context));
    if (first) this.#add(steps.memoryStep(this.#context, newId()));
    const { prompt, items, images } = this.#input;
    this.#add(steps.userInputStep(this.#context, prompt.text, items, images));
    if (this.#input.refusal !== undefined) throw new TurnFailure(this.#input.refusal);
    this.#services.spend(this.#input.costHundredths);
    if (pace.firstMs > 0) await clock.sleep(pace.firstMs, this.#signal);
  }

  async #answer(): Promise<void> {
    const plan = this.#plan;
    const toolSteps = plan.tools ?? (plan.toolOnly === true ? 1 : 0);
    for (let i = 0; i < toolSteps; i++) await this.#ideTool();
    if (plan.waiting === true) await this.#waitForDecision();
    if (plan.toolOnly === true) return;

    const { model, clock } = this.#services;
    const growth = new Growth({
      ...answerPace(plan),
      ...(model.live ? { charsPerSecond: Infinity } : {}),
      marks: this.#marks(),
      clock,
    });
    this.#startPlanner();
    let usage = uncounted;
    let thinkingAtMs: number | undefined;
    for await (const delta of model.answer(this.#input.prompt, this.#signal)) {
      this.#signal.throwIfAborted();
      if (delta.kind === "usage") {
        usage = delta;
      } else if (delta.kind === "thinking") {
        thinkingAtMs ??= clock.now();
        await this.#think(delta.text);
      } else {
        if (thinkingAtMs !== undefined) this.#endThinking(clock.now() - thinkingAtMs);
        thinkingAtMs = undefined;
        await growth.grow(delta.text, (piece) => this.#append(piece), this.#signal);
      }
    }
    if (thinkingAtMs !== undefined) this.#endThinking(clock.now() - thinkingAtMs);
    await growth.finish();
    this.#finishPlanner(CortexStepStatus.DONE, usage);
  }

  /** The events on the way, by the length of the answer. */
  #marks(): GrowthMark[] {
    const plan = this.#plan;
    const marks: GrowthMark[] = [];
    const { clock } = this.#services;
    if (plan.insertAfter !== undefined) marks.push({ at: plan.insertAfter, act: () => this.#insertMemory() });
    if (plan.checkpointAfter !== undefined) marks.push({ at: plan.checkpointAfter, act: () => this.#compact() });
    if (plan.rewriteAfter !== undefined) marks.push({ at: plan.rewriteAfter, act: () => this.#planner?.rewrite() });
    if (plan.stallMs !== undefined) {
      const ms = plan.stallMs;
      marks.push({ at: plan.stallAfter ?? 0, act: () => clock.sleep(ms, this.#signal) });
    }
    if (plan.holdAfter !== undefined)
      marks.push({ at: plan.holdAfter, act: () => orAborted(this.#released, this.#signal) });
    if (plan.restartAfter !== undefined) {
      marks.push({
        at: plan.restartAfter,
        act: async () => {
          this.#services.restart();
          await clock.sleep(60_000, this.#signal);
        },
      });
    }
    if (plan.error !== undefined && plan.errorAt !== "send") {
      const name = plan.error;
      marks.push({
        at: plan.errorAfter ?? 0,
        act: () => {
          throw new TurnFailure(name);
        },
      });
    }
    return marks;
  }

  #startPlanner(): void {
    this.#planner = new PlannerCall(this.#context, this.#services.newId());
    this.#add(this.#planner.step);
  }

  async #think(text: string): Promise<void> {
    const response = this.#planner?.response;
    if (response === undefined) return;
    if (this.#plan.redacted === true) {
      response.thinkingRedacted = true;
      response.signature = "c2ltdWxhdG9y";
    } else {
      const growth = new Growth({
        ...answerPace(this.#plan),
        ...(this.#services.model.live ? { charsPerSecond: Infinity } : {}),
        marks: [],
        clock: this.#services.clock,
      });
      await growth.grow(
        text,
        (piece) => {
          response.thinking += piece;
        },
        this.#signal,
      );
    }
    if (this.#plan.thinkMs !== undefined) await this.#services.clock.sleep(this.#plan.thinkMs, this.#signal);
  }

  #endThinking(ms: number): void {
    if (this.#planner !== undefined) this.#planner.response.thinkingDuration = durationFromMs(Math.round(ms));
  }

  #append(piece: string): void {
    if (this.#planner !== undefined) this.#planner.response.response += piece;
    this.#trajectory.modifiedAtMs = this.#services.clock.now();
  }

  #finishPlanner(status: CortexStepStatus, usage: PlannerUsage = uncounted): void {
    const planner = this.#planner;
    if (planner === undefined) return;
    this.#planner = undefined;
    const nowMs = this.#services.clock.now();
    planner.finish(status, nowMs, { modified: this.#plan.modified === true });
    const { prompt, requestedModelUid, costHundredths } = this.#input;
    this.#trajectory.generatorMetadata.push(
      planner.generatorMetadata({
        prompt,
        workspaceUri: this.#trajectory.workspaceUri,
        requestedModelUid,
        executionId: this.#executionId,
        stepIndex: this.#trajectory.steps.indexOf(planner.step),
        usage,
        creditCost: this.#plannerCalls === 0 ? costHundredths : 0,
        nowMs,
      }),
    );
    this.#plannerCalls++;
    this.#changed();
  }

  async #ideTool(): Promise<void> {
    const { clock, newId } = this.#services;
    const callId = `toolu_${newId().replaceAll("-", "").slice(0, 24)}`;
    const uri = this.#trajectory.workspaceUri;
    this.#startPlanner();
    this.#append(this.#plan.toolText ?? "");
    this.#planner?.response.toolCalls.push(steps.listDirectoryCall(callId, uri));
    this.#finishPlanner(CortexStepStatus.DONE);
    const step = steps.listDirectoryStep(this.#context, callId, uri);
    this.#add(step);
    const { charsPerSecond, chunk } = answerPace(this.#plan);
    if (charsPerSecond !== Infinity) await clock.sleep((chunk / charsPerSecond) * 1000, this.#signal);
    step.status = CortexStepStatus.DONE;
    this.#changed();
  }

  async #waitForDecision(): Promise<void> {
    const step = steps.waitingCommandStep(this.#context, this.#services.newId());
    this.#add(step);
    try {
      for (;;) await this.#services.clock.sleep(60_000, this.#signal);
    } finally {
      step.status = CortexStepStatus.CANCELED;
    }
  }

  #insertMemory(): void {
    const at = this.#trajectory.steps.findLastIndex((step) => step.step.case === "userInput");
    this.#trajectory.steps.splice(at, 0, steps.memoryStep(this.#context, this.#services.newId()));
    this.#changed();
  }

  /** Compacts the context in the middle of the answer, which continues in a separate step. */
  #compact(): void {
    this.#finishPlanner(CortexStepStatus.DONE);
    this.#addCheckpoint();
    this.#startPlanner();
  }

  #addCheckpoint(): void {
    const { steps: all } = this.#trajectory;
    const title = this.#input.prompt.text.replaceAll(/\s+/g, " ").trim().slice(0, 60);
    if (this.#trajectory.title === "") this.#trajectory.title = title;
    const index = all.filter((step) => step.step.case === "checkpoint").length;
    this.#add(steps.checkpointStep(this.#context, index, all.length, this.#trajectory.title));
  }

  #cancel(): void {
    this.#finishPlanner(CortexStepStatus.CANCELED);
  }

  #fail(reason: ErrorName | { readonly text: string }): void {
    const id = this.#services.newId().replaceAll("-", "");
    const details =
      typeof reason === "string" ? steps.errorDetails(reason, id) : steps.customErrorDetails(reason.text, id);
    const planner = this.#planner;
    if (planner !== undefined && this.#plan.errorAt === "field") planner.step.error = details;
    this.#finishPlanner(CortexStepStatus.ERROR);
    if (planner === undefined || this.#plan.errorAt !== "field") this.#add(steps.errorStep(this.#context, details));
  }

  #add(step: CortexTrajectoryStep): void {
    this.#trajectory.steps.push(step);
    this.#changed();
  }

  #changed(): void {
    this.#trajectory.modifiedAtMs = this.#services.clock.now();
    this.#services.saved(this.#trajectory);
  }
}

const uncounted: PlannerUsage = { inputTokens: 0, outputTokens: 0 };

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
