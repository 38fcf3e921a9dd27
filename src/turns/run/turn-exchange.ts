import type { Backend, Backends, Prompt, RunOptions } from "../../backends/backend.ts";
import type { CascadeId } from "../../base/ids.ts";
import type { BackendKind } from "../../log/event.ts";
import type { NewTurn } from "../../log/store.ts";
import type { Continuity, ContinuityOptions } from "../continuity/continuity.ts";
import { Conversation } from "../continuity/conversation.ts";
import { planAnswer } from "../tools/answer-plan.ts";
import { type Begun, type Exchange, exchange } from "./exchange.ts";
import { continuedPromptOf, type Planning } from "./turn-plan.ts";

type Turn = Pick<NewTurn, "turnId" | "request" | "modelUid" | "modelNumber" | "caller" | "session">;

/** What is asked, and over what. */
export interface Asked {
  readonly backend: Backend;
  readonly prompt: Prompt;
  readonly run: RunOptions;
  /** Where the log of a turn that another process began stands. */
  readonly from?: Begun;
}

/** An agent may have to be started first: OpenCode took 10 s on a busy machine. */
const archiveMs: Readonly<Record<BackendKind, number>> = { cascade: 5_000, raw_chat: 5_000, acp: 60_000 };

/** Only cascades and sessions of agents are ever archived. */
function kindOf(cascadeId: CascadeId): BackendKind {
  return cascadeId.startsWith("acp:") ? "acp" : "cascade";
}

/** Archives trajectories over whatever backend there is then. */
export function archiverOf(backends: Backends): ContinuityOptions["archive"] {
  return async (cascadeId: CascadeId) => {
    const backend = kindOf(cascadeId);
    const signal = AbortSignal.timeout(archiveMs[backend]);
    await (await backends.holding({ backend, cascadeId }, signal)).archive(cascadeId, signal);
  };
}

/** The exchange of a turn, its answer read by the turn's plan. Counts what became of its calls. */
export function exchangeOf(
  planning: Planning,
  turn: Pick<Turn, "turnId" | "request" | "modelUid">,
  asked: Asked,
  conversation?: Conversation,
): Exchange {
  return exchange({
    ...asked,
    conversation,
    plan: planAnswer(turn.request, turn.turnId.replace(/^turn_/, "")),
    onReport: ({ outcomes }) => {
      if (outcomes.length > 0) planning.onOutcomes?.(turn, outcomes);
    },
  });
}

/**
 * The way of a new turn, and what `continuity` tells of it: `reused` or `rebuilt(reason)`, once it is known. Without continuity
 * every prompt goes into a fresh trajectory.
 */
export function routeOf(
  planning: Planning,
  continuity: Continuity | undefined,
  turn: Turn,
  asked: Asked,
): { readonly exchange: Exchange; readonly continuity: Promise<string> } {
  if (continuity === undefined) {
    return { exchange: exchangeOf(planning, turn, asked), continuity: Promise.resolve("rebuilt(off)") };
  }
  const choice = continuity.choose(turn);
  const continued = choice.type === "reuse" ? continuedPromptOf(planning, turn, choice.cascadeId) : undefined;
  const travelled = Promise.withResolvers<string>();
  const conversation = new Conversation({ continuity, asker: turn, choice, continued, onTravelled: travelled.resolve });
  return { exchange: exchangeOf(planning, turn, asked, conversation), continuity: travelled.promise };
}
