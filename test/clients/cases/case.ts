import type { Bench, Ran, Scenario } from "../bench.ts";

/** One client on one surface: how each scenario is driven, or why it cannot be. */
export interface ClientCase {
  readonly name: string;
  /** The package that its version is read from. */
  readonly packageName: string;
  readonly surface: "chat completions" | "responses" | "messages";
  /** What is known to fail, and why: the suite is held to it, so that a repair shows. */
  readonly known?: Readonly<Partial<Record<Scenario, string>>>;
  /** A text says why the client has no way to do it. */
  readonly drive: Readonly<Record<Scenario, ((bench: Bench) => Promise<Ran>) | string>>;
}
