import type { Backends, Prompt } from "../backends/backend.ts";
import type { Clock } from "../base/clock.ts";
import type { Emitter, EventSink } from "../base/emitter.ts";
import type { ModelUid } from "../base/ids.ts";
import type { TurnRequest } from "../log/request.ts";
import type { LogStore, NewTurn } from "../log/store.ts";
import type { TrajectoryNotes } from "./continuity/orphaned-trajectories.ts";
import type { TurnLifecycle } from "./lifecycle.ts";
import type { LayoutOptions } from "./prompt/layout.ts";
import type { TurnLimits } from "./queue.ts";
import type { RefusalsOptions } from "./refusals.ts";

/** The model that a request's name means. */
export interface PlannedModel {
  readonly uid: ModelUid;
  readonly number: number | undefined;
}

/** How requests become prompts and answers become events; the same request gives the same, also after a restart. */
export interface TurnPlans {
  /** `continues`: the prompt holds only the messages that the trajectory lacks. Throws `context_too_long`, `invalid_request`. */
  readonly layout: (request: TurnRequest, model: PlannedModel, options: LayoutOptions) => Prompt;
  /** Never more than one token a UTF-16 code unit. */
  readonly countTokens: (text: string) => number;
  readonly events?: EventSink<TurnLifecycle>;
}

/** Decides once for each turn whether it may start, before any part of the turn is stored or sent. */
export interface AdmissionPolicy {
  /**
   * Throws, or rejects with, the reason of a refusal. The returned function is called if the turn does not start after all. Check and
   * count are one step, so two turns cannot pass on the same count.
   */
  admit(turn: NewTurn): (() => void) | Promise<() => void>;
}

/** The parts that the engine gets from outside. */
export interface TurnsOptions extends TurnPlans {
  /** Stays open when the turns stop; its opener closes it. */
  readonly store: LogStore;
  readonly backends: Backends;
  readonly clock: Clock;
  readonly events?: Emitter<TurnLifecycle>;
  /** How long a turn continues without a reader, if the request does not say; ms. */
  readonly graceMs: number;
  /** Whether a repeated request without a key may join its twin. */
  readonly implicitJoins: boolean;
  /** The owner of the turns that run here: the home's id, a slash, and this start's. */
  readonly owner: string;
  /** Keeps trajectories open for the next turn of their conversation, this long; every turn has a fresh one without it. */
  readonly continuity?: { readonly idleMs: number };
  /** As `RefusalsOptions` has them: when a quota resets, what helps then, and whether a model may be asked now. */
  readonly resetOf?: RefusalsOptions["resetOf"];
  readonly adviceOf?: RefusalsOptions["adviceOf"];
  readonly limitOf?: RefusalsOptions["limitOf"];
  /** How many turns may run at the same time; any number without it. */
  readonly limits?: TurnLimits;
  /** Whether a turn may start; each may without it. */
  readonly admission?: AdmissionPolicy;
  /** Where trajectories are recorded, so that orphaned ones can be archived later. */
  readonly trajectoryNotes?: TrajectoryNotes;
}
