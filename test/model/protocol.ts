import { clientSteps } from "./client-steps.ts";
import { faultSteps } from "./fault-steps.ts";
import { serverSteps } from "./server-steps.ts";
import { type Fixes, lastEvent, type State, type Step } from "./state.ts";

// The model's steps: `state.ts` says what it models.

/** Every step that can be taken, with a sentence for the trace. */
export function steps(state: State, fixes: Fixes): Step[] {
  if (state.broken !== null) return [];
  return [
    ...state.clients.flatMap((client, index) => clientSteps(state, client, index, fixes)),
    ...serverSteps(state, fixes).map((step) => ({ ...step, optional: false })),
    ...faultSteps(state, fixes).map((step) => ({
      ...step,
      optional: !step.label.includes("starts again from its record"),
    })),
  ];
}

/** Whether nothing more is owed to anyone: the stream is complete, cancelled on both sides, or its end was told. */
export function isSettled(state: State): boolean {
  return state.clients.every(({ phase }, index) => {
    if (phase === "fenced" && index === 0) return false; // no other client continues its stream
    if (phase === "fenced" || phase === "expired" || phase === "down") return true;
    if (phase === "aborted") return state.server.aborted || !state.server.known || state.server.events === lastEvent;
    return phase === "done";
  });
}
