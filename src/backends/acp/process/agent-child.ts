import type { Clock } from "../../../base/clock.ts";

/** An agent's process, as the code above sees it: text in, text out, and an end. */
export interface AgentChild {
  readonly pid: number;
  write(text: string): void;
  /** Called with each piece of standard output, as one read of the pipe gave it. */
  onText(listener: (text: string) => void): void;
  errorTail(): string;
  /** Resolves when the process is gone, with how it ended: "exit code 1", "signal SIGKILL". */
  readonly exited: Promise<string>;
  /** Closes standard input, by which a good agent ends; kills its process group when it has not ended after `graceMs`. */
  end(graceMs: number): Promise<void>;
  /** Resident memory in bytes; undefined where the system does not say. */
  rssBytes(): Promise<number | undefined>;
}

export interface ChildLaunch {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** Starts a process; throws `upstream_failed` when the system cannot. */
export type StartChild = (launch: ChildLaunch, clock: Clock) => Promise<AgentChild>;
