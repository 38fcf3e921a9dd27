import type { Bench, BenchOptions } from "../bench.ts";

export const hostColumns = ["`run`", "`setup`", "`setup`, the project's files"] as const;
export type HostColumn = (typeof hostColumns)[number];

/** What a user does around a client: sets it up, starts it, reads what is left of the plan. */
export interface Journey {
  /** The client's name on the page. */
  readonly client: string;
  /** The package that its version is read from. */
  readonly packageName: string;
  /** What holds if it passes, as a sentence. */
  readonly sentence: string;
  readonly bench?: BenchOptions;
  /** Its column in the table of other hosts, where it has a cell there. */
  readonly column?: HostColumn;
  /** Throws what does not hold. */
  run(bench: Bench): Promise<void>;
}

/** Throws unless it holds, with what was seen. */
export function expect(holds: boolean, otherwise: string, seen?: unknown): asserts holds {
  if (holds) return;
  const text = typeof seen === "string" ? seen : JSON.stringify(seen);
  throw new Error(seen === undefined ? otherwise : `${otherwise}: ${text.slice(-2_000)}`);
}
