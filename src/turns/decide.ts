import type { StopReason } from "../backends/backend.ts";
import { MillraceError } from "../base/errors.ts";
import { type CancelledBy, isTerminal, type TurnEventBody } from "../log/event.ts";

/**
 * A turn's state, according to its log. `handed_over`: this process is no longer its writer; the turn continues elsewhere or later.
 * Source: docs/dev/turn-machine.md.
 */
export type TurnState = "created" | "prompted" | "streaming" | "finished" | "failed" | "cancelled" | "handed_over";

/** An input of the turn's state machine. */
export type TurnInput =
  /** An event for the log, from the backend through the turn's stages. */
  | { readonly type: "event"; readonly body: TurnEventBody }
  /** The backend's stream ended without a terminal event. */
  | { readonly type: "upstream_ended" }
  /** The backend threw, which is a bug in it. */
  | { readonly type: "upstream_threw"; readonly error: MillraceError }
  | { readonly type: "cancel"; readonly by: CancelledBy }
  /** The gateway stops and its log outlives it. */
  | { readonly type: "detach" }
  /** Another writer took the turn over, ended it or removed it. */
  | { readonly type: "fenced" };

/** `TurnInput` by its effect on the machine: an event counts by its kind. */
export type TurnSymbol =
  | "started"
  | "answer"
  | "finished"
  | "failed"
  | "upstream_ended"
  | "upstream_threw"
  | "cancel"
  | "detach"
  | "fenced";

/** The same for every turn that has not ended. */
const whileOpen = {
  failed: "failed",
  upstream_ended: "failed",
  upstream_threw: "failed",
  cancel: "cancelled",
  detach: "handed_over",
  fenced: "handed_over",
} as const;

const over = {
  started: "same",
  answer: "same",
  finished: "same",
  failed: "same",
  upstream_ended: "same",
  upstream_threw: "same",
  cancel: "same",
  detach: "same",
  fenced: "same",
} as const;

/** The whole machine. `illegal`: a backend broke its contract; the turn fails with `internal`. `same`: nothing happens. */
export const transitions: Readonly<Record<TurnState, Readonly<Record<TurnSymbol, TurnState | "same" | "illegal">>>> = {
  created: { ...whileOpen, started: "prompted", answer: "illegal", finished: "illegal" },
  prompted: { ...whileOpen, started: "illegal", answer: "streaming", finished: "finished" },
  streaming: { ...whileOpen, started: "illegal", answer: "streaming", finished: "finished" },
  finished: over,
  failed: over,
  cancelled: over,
  handed_over: over,
};

/** One step of the machine: the turn's next state and the events for its log. Pure. */
export function decide(
  state: TurnState,
  input: TurnInput,
): { readonly state: TurnState; readonly appends: readonly TurnEventBody[] } {
  const next = transitions[state][symbolOf(input)];
  if (next === "same") return { state, appends: [] };
  if (next === "illegal") return failWith(brokenContract(state, input));
  switch (input.type) {
    case "event":
      return { state: next, appends: [input.body] };
    case "upstream_ended":
      return failWith(new MillraceError("upstream_failed", "The IDE's server stopped answering before the end."));
    case "upstream_threw":
      return failWith(input.error);
    case "cancel":
      return { state: next, appends: [{ type: "cancelled", by: input.by }] };
    case "detach":
    case "fenced":
      return { state: next, appends: [] };
    default:
      return input satisfies never;
  }
}

/** How the backend is stopped in this state; undefined while the turn runs, or when the backend has already ended. */
export function stopFor(state: TurnState, upstreamEnded: boolean): StopReason | undefined {
  if (state === "handed_over") return "detach";
  return isOver(state) && !upstreamEnded ? "cancel" : undefined;
}

/** Whether nothing more can happen here. */
export function isOver(state: TurnState): boolean {
  return state === "finished" || state === "failed" || state === "cancelled" || state === "handed_over";
}

/** The state after these events of a log: the first state after a restart. */
export function stateAfter(events: readonly TurnEventBody[]): TurnState {
  let state: TurnState = "created";
  for (const body of events) state = decide(state, { type: "event", body }).state;
  return state;
}

function failWith(error: MillraceError): ReturnType<typeof decide> {
  return { state: "failed", appends: [{ type: "failed", error: error.toRecord() }] };
}

function symbolOf(input: TurnInput): TurnSymbol {
  if (input.type !== "event") return input.type;
  const { body } = input;
  if (body.type === "started") return "started";
  if (!isTerminal(body)) return "answer";
  return body.type === "cancelled" ? "cancel" : body.type;
}

function brokenContract(state: TurnState, input: TurnInput): MillraceError {
  const what = input.type === "event" ? input.body.type : input.type;
  return new MillraceError("internal", `The backend sent \`${what}\` while the turn was ${state}.`);
}
