import type { Prompt } from "../backends/backend.ts";
import type { CascadeId, ModelUid, TurnId } from "../base/ids.ts";
import type { NewTurn } from "../log/store.ts";
import type { Continuity } from "./continuity/continuity.ts";
import { Conversation } from "./continuity/conversation.ts";
import { heldPart } from "./continuity/visible-history.ts";
import type { EventStage } from "./event-stage.ts";
import { type Exchange, type ExchangeOptions, exchange } from "./exchange.ts";
import { limitOutput } from "./limit-output.ts";
import type { TurnPlans } from "./options.ts";
import { planAnswer } from "./tools/answer-plan.ts";
import type { StartedTurn } from "./turns.ts";

/** The turn's own random text: for the ids of its calls and the mark of its tags. */
function seedOf(turnId: TurnId): string {
  return turnId.replace(/^turn_/, "");
}

/** The prompt with the whole history of a request. Throws what the layout throws. */
export function promptOf(plans: TurnPlans, { turnId, request, modelUid, modelNumber }: NewTurn): Prompt {
  const uid = modelUid as ModelUid; // it was one when the turn was stored
  return plans.layout(request, { uid, number: modelNumber }, { seed: seedOf(turnId) });
}

/** The prompt of a turn for a trajectory that holds its history already; undefined if the layout cannot express it. */
export function continuedPromptOf(plans: TurnPlans, turn: NewTurn, cascadeId: CascadeId): Prompt | undefined {
  const heldMessages = heldPart(turn.request, turn.modelUid)?.heldMessages;
  if (heldMessages === undefined) return undefined;
  const uid = turn.modelUid as ModelUid; // as above
  const options = { seed: seedOf(turn.turnId), continues: { cascadeId, heldMessages } };
  const prompt = plans.layout(turn.request, { uid, number: turn.modelNumber }, options);
  return prompt.continues === cascadeId ? prompt : undefined;
}

/** The stages between an answer's plan and the log; the same for every turn. */
export function stagesOf(
  { countTokens, events }: TurnPlans,
  { turnId, request }: Pick<NewTurn, "turnId" | "request">,
): readonly EventStage[] {
  const { stop, maxOutputTokens } = request;
  const limit = limitOutput({ stop, maxOutputTokens, countTokens });
  const tellRead: EventStage = {
    push(body) {
      const isEnd = body.type === "finished" || body.type === "failed";
      if (isEnd && body.ideTools !== undefined) events?.emit("ide_read", { turnId, ideTools: body.ideTools });
      return [body];
    },
  };
  return limit === undefined ? [tellRead] : [limit, tellRead];
}

/** The exchange of a turn, with its answer read by the turn's plan. */
export function exchangeOf(
  turn: NewTurn,
  input: Omit<ExchangeOptions, "plan" | "conversation">,
  conversation?: Conversation,
): Exchange {
  return exchange({ ...input, conversation, plan: planAnswer(turn.request, seedOf(turn.turnId)) });
}

/**
 * The exchange of a new turn. `continuity` answers `reused` or `rebuilt(reason)`, once that is known. Without continuity every
 * prompt goes into a fresh trajectory.
 */
export function newTurnExchange(
  plans: TurnPlans,
  continuity: Continuity | undefined,
  turn: NewTurn,
  input: Parameters<typeof exchangeOf>[1],
): { readonly exchange: Exchange; readonly continuity: StartedTurn["continuity"] } {
  if (continuity === undefined) return { exchange: exchangeOf(turn, input), continuity: () => "rebuilt(off)" };
  const choice = continuity.choose(turn);
  const continued = choice.type === "reuse" ? continuedPromptOf(plans, turn, choice.cascadeId) : undefined;
  const conversation = new Conversation({ continuity, asker: turn, choice, continued });
  return { exchange: exchangeOf(turn, input, conversation), continuity: () => conversation.travelled };
}
