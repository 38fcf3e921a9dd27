/** How sure the documentation is of an assumption. */
export type Certainty = "several sources" | "one source" | "inferred" | "not settled";

/** `unknown`: it could not be seen here. */
export type AssumptionVerdict = "ok" | "differs" | "unknown";

/** The evidence for one assumption, in a few words. Holds no secret, no name of an account and no session. */
export interface Observation {
  readonly verdict: AssumptionVerdict;
  readonly seen: string;
}

/** One assumption about the vendor's software, and how to compare it with `S`, the observations. */
export interface Assumption<S> {
  /** Stable: reports are compared by it. */
  readonly id: string;
  readonly sentence: string;
  /** A page of docs/wire and its heading. */
  readonly source: string;
  readonly certainty: Certainty;
  check(seen: S): Observation;
}

export const ok = (seen: string): Observation => ({ verdict: "ok", seen });
export const differs = (seen: string): Observation => ({ verdict: "differs", seen });
export const unknown = (seen: string): Observation => ({ verdict: "unknown", seen });

/** `ok` or `differs`, with the same words. */
export const judged = (holds: boolean, seen: string): Observation => (holds ? ok(seen) : differs(seen));
