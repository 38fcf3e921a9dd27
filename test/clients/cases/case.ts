import type { Bench, Ran, Scenario } from "../bench.ts";
import type { FailureName } from "../failures/failure.ts";

export type Ask = (bench: Bench, prompt: string) => Promise<Ran>;

/** One client on one surface: how each scenario is driven, or why it cannot be. */
export interface ClientCase {
  readonly name: string;
  /** The package that its version is read from. */
  readonly packageName: string;
  readonly surface: "chat completions" | "responses" | "responses, WebSocket" | "messages" | "ollama" | "gemini";
  /** What is known to fail, and why: the suite is held to it, so that a repair shows. */
  readonly known?: Readonly<Partial<Record<Scenario, string>>>;
  /** Asks it one question, with the repeats that it does by itself. Undefined: its failures are not driven. */
  readonly ask?: Ask | undefined;
  /** It takes most of a minute to start: driven only when it is named, or with `--failures all`. */
  readonly slow?: true;
  /** How many prompts it sends for one question when nothing fails, if more than one: a title, a memory. */
  readonly promptsEach?: number;
  /** What it does wrong after a failure that the gateway cannot end, and why. */
  readonly knownAfter?: Readonly<Partial<Record<FailureName, string>>>;
  /** A text says why the client has no way to do it. */
  readonly drive: Readonly<Record<Scenario, ((bench: Bench) => Promise<Ran>) | string>>;
}
