import { isSettled, steps } from "./protocol.ts";
import { type Faults, type Fixes, initial, type State } from "./state.ts";

/**
 * The hazards of docs/dev/wire/idempotent-streams.md, "Hazards", that this model can show.
 */
export type Hazard = "H1" | "H2" | "H3" | "H4" | "H6" | "H7";

/** One way things go wrong, with a shortest trace to it. */
export interface Counterexample {
  readonly hazard: Hazard;
  readonly what: string;
  readonly trace: readonly string[];
}

export interface Verdict {
  readonly explored: number;
  readonly found: readonly Counterexample[];
}

type Origins = Map<string, { readonly key: string; readonly label: string } | undefined>;

/**
 * Looks at every state that the algorithm can reach under these faults, nearest first; answers the first of each hazard.
 * Stops early once all of `wanted` are found.
 */
export function search(fixes: Fixes, faults: Faults, wanted: readonly Hazard[] = []): Verdict {
  const start = initial(faults);
  const cameFrom: Origins = new Map([[JSON.stringify(start), undefined]]);
  const found = new Map<Hazard, Counterexample>();
  let frontier: State[] = [start];
  const isDone = () => wanted.length > 0 && wanted.every((hazard) => found.has(hazard));
  while (frontier.length > 0 && !isDone()) {
    const next: State[] = [];
    for (const state of frontier) {
      const key = JSON.stringify(state);
      const following = steps(state, fixes);
      const isStuck = following.every(({ optional }) => optional) && !isSettled(state);
      const what =
        state.broken ??
        (isStuck ? "the stream is stuck: neither side has anything left to do, and not both know its end" : null);
      if (what !== null) {
        const hazard = classify(state, what);
        if (!found.has(hazard) && !isDone()) found.set(hazard, { hazard, what, trace: traceTo(key, cameFrom) });
        continue;
      }
      for (const { label, state: after } of following) {
        const afterKey = JSON.stringify(after);
        if (cameFrom.has(afterKey)) continue;
        cameFrom.set(afterKey, { key, label });
        next.push(after);
      }
    }
    frontier = next;
  }
  return { explored: cameFrom.size, found: [...found.values()].sort((a, b) => a.hazard.localeCompare(b.hazard)) };
}

/** Which hazard a wrong state shows. */
function classify(state: State, what: string): Hazard {
  if (what.includes("acknowledged chunk is lost")) return "H4";
  if (what.includes("second time")) return "H6";
  if (what.includes("two different chunks")) return state.clients.length > 1 ? "H7" : "H2";
  if (state.clients.some(({ phase }) => phase === "aborted")) return "H3";
  const isForgotten = !state.server.accepted.some(({ seqno }) => seqno === 0);
  return isForgotten ? "H6" : "H1";
}

function traceTo(key: string, cameFrom: Origins): string[] {
  const labels: string[] = [];
  for (let at = cameFrom.get(key); at !== undefined; at = cameFrom.get(at.key)) labels.unshift(at.label);
  return labels;
}
