import type { Clock } from "../../../base/clock.ts";

/** An agent's process, as the code above sees it: text in, text out, and an end. */
export interface AgentChild {
  readonly pid: number;
  write(text: string): void;
  /** Called with each piece of standard output, as one read of the pipe gave it. */
  onText(listener: (text: string) => void): void;
  /** Resolves once `onText` got all that was written to the pipe before this call: a pipe and a relay's socket are read in any order. */
  caughtUp(): Promise<void>;
  errorTail(): string;
  /** When it last wrote anything, to standard error too, or was started here; ms of the monotonic clock. */
  readonly heardMs: number;
  /** Resolves when the process is gone, with how it ended: "exit code 1", "signal SIGKILL". */
  readonly exited: Promise<string>;
  /** Closes standard input, by which a good agent ends; kills its process group when it has not ended after `graceMs`. */
  end(graceMs: number): Promise<void>;
  /** Resident memory in bytes; undefined where the system does not say. */
  rssBytes(): Promise<number | undefined>;
  /** The host that the process lives in; undefined for a process that ends with this one. */
  readonly host?: ChildHost;
}

/** What one gateway leaves with a host for the next one. */
export interface HostNote {
  /** Of the gateway's own making, as the JSON of an object. */
  readonly state: string;
  /** The large parts of it that seldom change, by name, each as JSON: only those that changed are sent. */
  readonly parts: Readonly<Record<string, string>>;
  /** The first of the agent's lines that the next gateway needs. */
  readonly keep: number;
  /** The ids of the prompts that run. */
  readonly running: readonly number[];
}

/** A process of ours that keeps an agent and its output while gateways come and go. */
export interface ChildHost {
  /** How many lines of the agent were handed to `onText`, with the one that is handled now. */
  readonly read: number;
  /** No request of an earlier gateway had this id or a higher one. */
  readonly firstId: number;
  /** Leaves a note for the next gateway, with the next `write` if one follows at once: both arrive, or none does. */
  note(note: HostNote): void;
  /** Leaves the agent as it is to the next gateway. Resolves once the host has all that was written. */
  leave(): Promise<void>;
}

export interface ChildLaunch {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** Starts a process; throws `upstream_failed` when the system cannot. */
export type StartChild = (launch: ChildLaunch, clock: Clock) => Promise<AgentChild>;
