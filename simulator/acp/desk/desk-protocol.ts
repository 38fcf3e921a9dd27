import type { QuotaError } from "../../account/plan.ts";
import type { TurnPlan } from "../../faults/turn-plan.ts";
import type { AgentFault, AgentOptions } from "../agent-options.ts";

/** The settings that a `devin` process finds in the file named by its launcher. They are enough to run when the simulator is gone. */
export interface AgentSettings {
  /** Where the simulator listens, and the token that it asks for. */
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

/** A `devin` process that was started. */
export interface AgentProcessReport {
  readonly pid: number;
  readonly arguments: readonly string[];
  /** The environment at its start; each key is replaced by the name of its owner. */
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
  running: boolean;
}

/** The history of all `devin` processes since the simulator's start. */
export interface AgentReport {
  /** Rises with every change. */
  readonly version: number;
  readonly processes: readonly Readonly<AgentProcessReport>[];
  readonly clients: readonly { readonly pid: number; readonly client: unknown; readonly capabilities: unknown }[];
  /** Calls and notifications by method, refused ones included. */
  readonly calls: Readonly<Record<string, number>>;
  /** Prompts that the agent stored: each of them costs. */
  readonly prompts: readonly AgentPrompt[];
  /** Texts of prompts that were refused before they were stored. */
  readonly refusedPrompts: readonly string[];
  readonly sessions: readonly {
    readonly pid: number;
    readonly sessionId: string;
    readonly cwd: string;
    readonly how: "new" | "load";
  }[];
  /** Ended turns, with their cause as in `agent_stopped`. */
  readonly ended: readonly { readonly sessionId: string; readonly cause: string }[];
  readonly cancels: readonly { readonly sessionId: string; readonly idle: boolean }[];
  /** Stored sessions that an agent was asked to delete, and does not have any more; each once. */
  readonly deletes: readonly string[];
  /** The client's answers to permission requests: the option's id, or `cancelled`. */
  readonly permissions: readonly { readonly sessionId: string; readonly outcome: string }[];
  /** Requests for diagnostics, and whether each was answered without an error. */
  readonly diagnostics: readonly boolean[];
  /** How often a browser would have been opened for a sign-in. */
  readonly browserOpened: number;
}

/** The lists of the report that `devin` processes write into. */
export type NoteList = Exclude<keyof AgentReport, "version" | "processes" | "calls" | "browserOpened">;

/** The terms that apply to a call when it arrives. */
export interface CallTerms {
  readonly fault?: AgentFault | undefined;
  readonly options: AgentOptions;
  readonly turn: TurnPlan;
  /** The plan is used up: prompts that cost are refused. */
  readonly exhausted?: QuotaError | undefined;
}
