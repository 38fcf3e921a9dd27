import type { Prompt } from "../backends/backend.ts";
import type { ModelUid } from "../base/ids.ts";
import type { TurnRequest } from "../log/request.ts";
import type { NewTurn } from "../log/store.ts";
import { limitOutput } from "./limit-output.ts";
import type { EventTransform } from "./transform.ts";

/** The model that a request's name means. */
export interface PlannedModel {
  readonly uid: ModelUid;
  readonly number: number | undefined;
}

/** How requests become prompts and answers become events; the same request gives the same, also after a restart. */
export interface Planning {
  /** Throws `context_too_long`, `invalid_request`. */
  readonly layout: (request: TurnRequest, model: PlannedModel) => Prompt;
  /** What rewrites the turn's events before its stop sequences and length are enforced: its tool plan. */
  readonly transforms: (request: TurnRequest) => readonly EventTransform[];
  /** Never more than one token a UTF-16 code unit. */
  readonly countTokens: (text: string) => number;
}

export function promptOf(planning: Planning, turn: Pick<NewTurn, "request" | "modelUid" | "modelNumber">): Prompt {
  const uid = turn.modelUid as ModelUid; // it was one when the turn was stored
  return planning.layout(turn.request, { uid, number: turn.modelNumber });
}

export function transformsOf(planning: Planning, { request }: Pick<NewTurn, "request">): readonly EventTransform[] {
  const limit = limitOutput({
    stop: request.stop,
    maxOutputTokens: request.maxOutputTokens,
    countTokens: planning.countTokens,
  });
  return [...planning.transforms(request), ...(limit === undefined ? [] : [limit])];
}
