import type { Backend, Prompt, RunOptions } from "../../backends/backend.ts";
import type { NewTurn } from "../../log/store.ts";
import type { Continuity } from "../continuity/continuity.ts";
import { Conversation } from "../continuity/conversation.ts";
import { planAnswer } from "../tools/answer-plan.ts";
import type { StartedTurn } from "../turns.ts";
import { type Exchange, exchange, type ResumePlace } from "./exchange.ts";
import { continuedPromptOf, type Planning } from "./turn-plan.ts";

type Turn = Pick<NewTurn, "turnId" | "request" | "modelUid" | "modelNumber" | "caller" | "session">;

/** A turn's prompt, and the backend to send it to. */
export interface ExchangeInput {
  readonly backend: Backend;
  readonly prompt: Prompt;
  readonly run: RunOptions;
  /** Where the log of a turn that another process began stands. */
  readonly from?: ResumePlace;
}

/** The exchange of a turn, with its answer read by the turn's plan. Reports the outcome of the answer's calls. */
export function exchangeOf(
  planning: Planning,
  turn: Pick<Turn, "turnId" | "request" | "modelUid">,
  asked: ExchangeInput,
  conversation?: Conversation,
): Exchange {
  return exchange({
    ...asked,
    conversation,
    plan: planAnswer(turn.request, turn.turnId.replace(/^turn_/, "")),
    onReport: ({ outcomes }) => {
      if (outcomes.length > 0) planning.events?.emit("tool_calls_judged", { turn, outcomes });
    },
  });
}

/**
 * The exchange of a new turn. `continuity` answers `reused` or `rebuilt(reason)`, once that is known. Without continuity every
 * prompt goes into a fresh trajectory.
 */
export function newTurnExchange(
  planning: Planning,
  continuity: Continuity | undefined,
  turn: Turn,
  asked: ExchangeInput,
): { readonly exchange: Exchange; readonly continuity: StartedTurn["continuity"] } {
  if (continuity === undefined) {
    return { exchange: exchangeOf(planning, turn, asked), continuity: () => "rebuilt(off)" };
  }
  const choice = continuity.choose(turn);
  const continued = choice.type === "reuse" ? continuedPromptOf(planning, turn, choice.cascadeId) : undefined;
  const conversation = new Conversation({ continuity, asker: turn, choice, continued });
  return { exchange: exchangeOf(planning, turn, asked, conversation), continuity: () => conversation.travelled };
}
