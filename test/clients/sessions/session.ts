import type { Bench, Ran } from "../bench.ts";
import type { ClientCase } from "../cases/case.ts";
import type { ClientCalls, StepName } from "./script.ts";

/** What a user types, and how. */
export interface Message {
  readonly step: StepName;
  readonly text: string;
  /** The session has no message yet. */
  readonly isFirst: boolean;
  /** A picture to add. */
  readonly picture?: string;
  /** The answer has to fit `tripSchema`. */
  readonly isJson?: true;
  /** Stops the client, as Ctrl-C does. */
  readonly until?: Promise<unknown>;
}

/** A client that is driven through the session. Each message is a process of its own, which finds the session on disk. */
export interface SessionClient extends Pick<ClientCase, "name" | "packageName" | "surface"> {
  readonly say: (bench: Bench, message: Message) => Promise<Ran>;
  readonly calls: ClientCalls;
  /** Its user adds a picture to a message; undefined: the client reads the picture with its tool, if it has one. */
  readonly attaches?: true;
  /** Why it has no such step. */
  readonly lacks: Readonly<Partial<Record<StepName, string>>>;
  /** Steps that are known to fail, and why: held to that, so that a repair shows. */
  readonly known?: Readonly<Partial<Record<StepName, string>>>;
  /** Prompts of its own in a step, such as a title, beside those of the script. */
  readonly more?: Readonly<Partial<Record<StepName, number>>>;
  /** What its user reads in place of the script's answer. */
  readonly answers?: Readonly<Partial<Record<StepName, readonly string[]>>>;
  /** Shortens its history; undefined: a message does it (`say`), or it cannot. */
  readonly compact?: (bench: Bench, message: Message) => Promise<Ran>;
  /** Only driven with `--sessions all`. */
  readonly rarely?: true;
}
