import type { Prompt } from "../../backends/backend.ts";
import type { EventSink } from "../../base/emitter.ts";
import type { CascadeId, ModelUid, TurnId } from "../../base/ids.ts";
import type { TurnRequest } from "../../log/request.ts";
import type { NewTurn } from "../../log/store.ts";
import { heldPart } from "../continuity/visible-history.ts";
import type { TurnLifecycle } from "../lifecycle.ts";
import type { LayoutOptions } from "../prompt/layout.ts";
import type { EventStage } from "./event-stage.ts";
import { limitOutput } from "./limit-output.ts";

/** The model that a request's name means. */
export interface PlannedModel {
  readonly uid: ModelUid;
  readonly number: number | undefined;
}

/** How requests become prompts and answers become events; the same request gives the same, also after a restart. */
export interface Planning {
  /** `continues`: the prompt holds only the messages that the trajectory lacks. Throws `context_too_long`, `invalid_request`. */
  readonly layout: (request: TurnRequest, model: PlannedModel, continues?: LayoutOptions["continues"]) => Prompt;
  /** Never more than one token a UTF-16 code unit. */
  readonly countTokens: (text: string) => number;
  readonly events?: EventSink<TurnLifecycle>;
}

export function promptOf(planning: Planning, turn: Pick<NewTurn, "request" | "modelUid" | "modelNumber">): Prompt {
  const uid = turn.modelUid as ModelUid; // it was one when the turn was stored
  return planning.layout(turn.request, { uid, number: turn.modelNumber });
}

/** The prompt of a turn for a trajectory that holds its history already; undefined if the layout cannot express it. */
export function continuedPromptOf(
  planning: Planning,
  turn: Pick<NewTurn, "request" | "modelUid" | "modelNumber">,
  cascadeId: CascadeId,
): Prompt | undefined {
  const heldMessages = heldPart(turn.request, turn.modelUid)?.heldMessages;
  if (heldMessages === undefined) return undefined;
  const uid = turn.modelUid as ModelUid; // as above
  const prompt = planning.layout(turn.request, { uid, number: turn.modelNumber }, { cascadeId, heldMessages });
  return prompt.continues === cascadeId ? prompt : undefined;
}

/** The stages between an answer's plan and the log; the same for every turn. */
export function stagesOf(
  planning: Planning,
  { turnId, request }: Pick<NewTurn, "turnId" | "request">,
): readonly EventStage[] {
  const limit = limitOutput({
    stop: request.stop,
    maxOutputTokens: request.maxOutputTokens,
    countTokens: planning.countTokens,
  });
  return [...(limit === undefined ? [] : [limit]), tellRead(planning, turnId)];
}

function tellRead({ events }: Planning, turnId: TurnId): EventStage {
  return {
    push(body) {
      const isEnd = body.type === "finished" || body.type === "failed";
      if (isEnd && body.ideTools !== undefined) events?.emit("ide_read", { turnId, ideTools: body.ideTools });
      return [body];
    },
  };
}
