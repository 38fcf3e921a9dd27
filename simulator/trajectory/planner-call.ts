import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type CortexStepGeneratorMetadata,
  CortexStepGeneratorMetadataSchema,
  type CortexStepPlannerResponse,
  CortexStepStatus,
  type CortexTrajectoryStep,
} from "../../src/proto/windsurf/exa/cortex_pb.ts";
import { countedUsage } from "../model/engine.ts";
import type { ModelPrompt } from "../model/model.ts";
import { plannerStep, type StepContext } from "./steps.ts";

/** One call of the planner's model: the step that its text grows in, and the entry about it at the end. */
export class PlannerCall {
  readonly step: CortexTrajectoryStep;
  readonly response: CortexStepPlannerResponse;
  readonly #startedAtMs: number;

  constructor(context: StepContext, messageId: string) {
    const { step, response } = plannerStep(context, messageId);
    this.step = step;
    this.response = response;
    this.#startedAtMs = context.nowMs;
  }

  /** The text so far becomes another one, in place. */
  rewrite(): void {
    this.response.response = revised(this.response.response);
  }

  finish(status: CortexStepStatus, nowMs: number, options: { readonly modified: boolean }): void {
    this.step.status = status;
    const { metadata } = this.step;
    if (metadata !== undefined) {
      metadata.finishedGeneratingAt = timestampFromMs(nowMs);
      metadata.completedAt = timestampFromMs(nowMs);
    }
    if (options.modified && status === CortexStepStatus.DONE) {
      this.response.modifiedResponse = revised(this.response.response);
    }
  }

  /** The entry that reports token use. Source: docs/dev/wire/cascade.md, "Token usage". */
  generatorMetadata(entry: {
    readonly prompt: ModelPrompt;
    readonly workspaceUri: string;
    readonly requestedModelUid: string;
    readonly executionId: string;
    readonly stepIndex: number;
    readonly creditCost: number;
    readonly nowMs: number;
  }): CortexStepGeneratorMetadata {
    const { prompt } = entry;
    const counted = countedUsage(prompt, [this.response.thinking, this.response.response]);
    return create(CortexStepGeneratorMetadataSchema, {
      stepIndices: [entry.stepIndex],
      executionId: entry.executionId,
      metadata: {
        case: "chatModel",
        value: {
          systemPrompt: `${ideSystemPrompt} The open folder is ${entry.workspaceUri}.`,
          modelUid: prompt.modelUid,
          usage: {
            inputTokens: BigInt(counted.inputTokens + systemPromptTokens),
            outputTokens: BigInt(counted.outputTokens),
            messageId: this.response.messageId,
            modelUid: prompt.modelUid,
            requestedModelUid: entry.requestedModelUid,
          },
          creditCost: entry.creditCost,
          timeToFirstToken: durationFromMs(250),
          streamingDuration: durationFromMs(Math.max(1, Math.round(entry.nowMs - this.#startedAtMs))),
        },
      },
    });
  }
}

/** The IDE's system prompt, as this server shows it beside its figures. Clients do not see it. */
export const ideSystemPrompt = "You are the planner of an editor that only plays one.";

/** The tokens of the planner's own prompt: a one-line question was measured at 1719 tokens. */
const systemPromptTokens = 1700;

function revised(text: string): string {
  return `(revised) ${text.replace(/^(\S+)/, (word) => word.toUpperCase())}`;
}
