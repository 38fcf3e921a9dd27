/** Where the prompt of a session stands that waits for the results of calls. */
export interface ParkedState {
  /** The agent still works on the prompt. */
  readonly isRunning: boolean;
  /** The calls that the client has and that the agent waits for. */
  readonly given: readonly string[];
  /** Calls that the client has and that the agent gave up. */
  readonly lost: number;
}

/** Why results cannot go to the prompt that waits: everything is then asked anew. */
export type AskAnew = "no_results" | "prompt_ended" | "calls_given_up" | "other_calls" | "nothing_waits";

/**
 * Whether the next request of a conversation goes on with the prompt that waits. Its caller, model, tools and history were compared
 * before: only a conversation that holds exactly the client's history comes here. `results` are the ids of the results that follow the
 * last answer, undefined where anything else follows it. Pure.
 */
export function continueParked(results: readonly string[] | undefined, state: ParkedState): "go_on" | AskAnew {
  if (results === undefined) return "no_results";
  if (!state.isRunning) return "prompt_ended";
  if (state.lost > 0) return "calls_given_up";
  if (state.given.length === 0) return "nothing_waits";
  const isSame = results.length === state.given.length && state.given.every((callId) => results.includes(callId));
  return isSame ? "go_on" : "other_calls";
}
