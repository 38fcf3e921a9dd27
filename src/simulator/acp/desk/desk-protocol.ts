import type { QuotaError } from "../../account/plan.ts";
import type { TurnPlan } from "../../faults/turn-plan.ts";
import type { AgentFault, AgentOptions } from "../agent-options.ts";

/*
 * The protocol between a `devin` process and the running simulator: JSON lines over a loopback connection. The process asks, and
 * the simulator answers each question in order. Without a question the simulator sends only `release`.
 */

/** The settings that a `devin` process finds in the file named by its launcher. They are enough to run when the simulator is gone. */
export interface AgentSettings {
  readonly port: number;
  readonly token: string;
  /** The home it falls back to where its environment names none. */
  readonly home: string;
  readonly cliData: string;
  /** The key that this account's prompts are paid with. */
  readonly apiKey: string;
  readonly compileCache?: string;
  readonly options: AgentOptions;
  readonly turn: TurnPlan;
  readonly modelUrl?: string;
  readonly modelName?: string;
  readonly modelKey?: string;
}

/** A prompt that the agent stored, so that it counts as accepted. */
export interface AgentPrompt {
  readonly pid: number;
  readonly sessionId: string;
  /** All text blocks, joined by an empty line. */
  readonly text: string;
  readonly images: readonly { readonly mimeType: string; readonly base64: string }[];
  readonly model: string;
  /** Set if the effort is a separate option. */
  readonly effort?: string;
  readonly mode: string;
  /** `default`, `summarizer` or `review`. */
  readonly agentType: string;
}

/** Something that happened in a `devin` process. */
export type AgentFact =
  | { readonly is: "client"; readonly client: unknown; readonly capabilities: unknown }
  | { readonly is: "session"; readonly sessionId: string; readonly cwd: string; readonly how: "new" | "load" }
  | { readonly is: "prompt"; readonly prompt: AgentPrompt; readonly credits: number }
  | { readonly is: "refused"; readonly text: string }
  | { readonly is: "ended"; readonly sessionId: string; readonly cause: string }
  | { readonly is: "cancel"; readonly sessionId: string; readonly idle: boolean }
  | { readonly is: "delete"; readonly sessionId: string }
  | { readonly is: "permission"; readonly sessionId: string; readonly outcome: string }
  | { readonly is: "diagnostics"; readonly answered: boolean }
  | { readonly is: "browser" };

export type DeskQuestion =
  | {
      readonly ask: "hello";
      readonly token: string;
      readonly pid: number;
      readonly arguments: readonly string[];
      readonly environment: Readonly<Record<string, string>>;
      readonly cwd: string;
    }
  | { readonly ask: "call"; readonly method: string }
  | { readonly ask: "note"; readonly fact: AgentFact };

/** The terms that apply to a call when it arrives. */
export interface CallTerms {
  readonly fault?: AgentFault;
  readonly options: AgentOptions;
  readonly turn: TurnPlan;
  /** The plan is used up: prompts that cost are refused. */
  readonly exhausted?: QuotaError;
}

export type ToDesk = DeskQuestion & { readonly id: number };
export type FromDesk = { readonly id: number; readonly answer: CallTerms | null } | { readonly push: "release" };
