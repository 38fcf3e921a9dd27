import { Code, ConnectError } from "@connectrpc/connect";
import type { ImageData, Metadata, TextOrScopeItem } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import type { CascadeConfig, CortexTrajectoryStep } from "../../src/proto/windsurf/exa/cortex_pb.ts";
import { readDirectives } from "../faults/directives.ts";
import { type ErrorName, errorTexts, rpcError } from "../faults/error-texts.ts";
import { mergePlans } from "../faults/turn-plan.ts";
import { nowOf } from "../model/conversation.ts";
import type { TurnInput } from "../trajectory/turn.ts";
import { checkMetadata, checkPanel } from "./checks.ts";
import type { RpcContext } from "./context.ts";
import { imagesOf, instructionsOf, plannerModeOf, selectorOf, textOfItems } from "./planner.ts";

/** A user message, from either call. */
export interface IncomingMessage {
  readonly metadata?: Metadata | undefined;
  readonly cascadeId: string;
  readonly items: TextOrScopeItem[];
  readonly images: ImageData[];
  readonly cascadeConfig?: CascadeConfig | undefined;
  readonly blocking: boolean;
  readonly additionalSteps: CortexTrajectoryStep[];
}

/**
 * Accepts a message and starts its turn, or queues it behind the running one; gives the queue id then. Does not wait
 * for the answer. Source: docs/dev/wire/cascade.md, "Rules of sending", "Several messages".
 */
export function acceptMessage(context: RpcContext, message: IncomingMessage): string | undefined {
  checkMetadata(context, message.metadata);
  checkPanel(context);
  const planner = message.cascadeConfig?.plannerConfig;
  if (message.cascadeConfig === undefined) throw rpcError("nil_message");
  if (planner === undefined) throw rpcError("no_model");
  const instructions = instructionsOf(planner);
  const input = turnInput(context, message, instructions);
  const refusal = refusalInCall(message, input);
  if (refusal !== undefined) {
    context.observations.figures.refusedMessages.push(input.prompt.text);
    throw refusal;
  }
  const queueId = context.cascades.send(message.cascadeId, input);
  context.observations.figures.messages.push({
    cascadeId: context.cascades.get(message.cascadeId).cascadeId,
    text: input.prompt.text,
    instructions,
    images: input.prompt.images,
    modelUid: input.prompt.modelUid,
    plannerMode: plannerModeOf(planner),
    maxOutputTokens: planner.maxOutputTokens,
    requestId: String(message.metadata?.requestId ?? 0n),
    queued: queueId !== undefined,
  });
  context.observations.changed();
  return queueId;
}

function turnInput(context: RpcContext, message: IncomingMessage, instructions: string): TurnInput {
  const planner = message.cascadeConfig?.plannerConfig;
  const selector = planner === undefined ? undefined : selectorOf(planner, context.profile.isOld);
  const chosen =
    selector === undefined ? undefined : context.account.choose(selector.uid, selector.number, context.clock.now());
  const text = textOfItems(message.items);
  const fromInstructions = readDirectives(instructions);
  const fromText = readDirectives(nowOf(text));
  const problem = [...fromInstructions.problems, ...fromText.problems][0];
  const knownKey = message.metadata?.apiKey === context.account.apiKey;
  const refusal: TurnInput["refusal"] =
    problem === undefined
      ? chosen === undefined
        ? "no_model"
        : (chosen.refusal ?? (knownKey ? undefined : "internal"))
      : { text: `simulator: a directive in the prompt is wrong: ${problem}` };
  const { config } = chosen ?? {};
  return {
    prompt: {
      text,
      asked: fromText.text,
      instructions,
      history: [],
      images: imagesOf(message.images),
      modelUid: chosen?.uid ?? "",
      modelLabel: config?.label ?? "an unknown model",
      thinks: config?.modelInfo?.modelFeatures?.supportsThinking ?? false,
      outputLimit: planner?.maxOutputTokens || undefined,
      plan: mergePlans(context.turnDefaults.current, fromInstructions.plan, fromText.plan),
    },
    items: message.items,
    images: message.images,
    requestedModelUid: selector?.uid ?? "",
    additionalSteps: message.additionalSteps,
    silent: planner?.plannerTypeConfig.case === undefined,
    refusal,
    costHundredths: Math.round((config?.creditMultiplier ?? 0) * 100),
  };
}

/** Why the call itself fails; undefined when the message is accepted. */
function refusalInCall({ blocking }: IncomingMessage, { refusal, prompt }: TurnInput): ConnectError | undefined {
  if (blocking && refusal !== undefined) return refusalError(refusal);
  const { error, errorAt } = prompt.plan;
  return errorAt === "send" && error !== undefined ? rpcError(error) : undefined;
}

/** A refusal as `blocking` callers see it: HTTP 500 with the text. Source: docs/dev/wire/cascade.md, "Rules of sending". */
function refusalError(refusal: ErrorName | { readonly text: string }): ConnectError {
  return new ConnectError(typeof refusal === "string" ? errorTexts(refusal).text : refusal.text, Code.Internal);
}
