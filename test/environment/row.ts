import type { Step } from "./place.ts";

/** One environment. Everything in it that is not said here is as on an ordinary machine. */
export interface Row {
  /** Its words in the table of docs/platforms.md, where it stands there: it runs as npm installs it, and as a program in one file. */
  readonly shown?: string;
  /** Variables that differ; undefined takes one away. `$HOME`, `$TMPDIR` and `$AWAY` (a third folder) in a value are the row's own folders. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Lines of a shell that make the environment. `$home`, `$temporary` and `$away` are its folders, `of_another HOME COMMAND OPTION` runs Millrace for a second person. */
  readonly before?: string;
  /** What a row must be able to do, else it is skipped by name: `mount` (a namespace of its own) or `users` (become another user). */
  readonly needs?: "mount" | "users";
  /** A program that runs each command in its own place. */
  readonly under?: string;
  /** Redirections of each command. */
  readonly redirect?: string;
  /** What runs the package: a path in scripts/runtimes, or in the row's own folders; this Node by default. */
  readonly runtime?: string;
  /** Commands after all others, each with what it must say on stdout. */
  readonly more?: readonly (readonly [command: string, says: RegExp])[];
  /** Where no gateway can be: what `chat` says. Every command then ends with a sentence. The demo still works, unless `demo` says otherwise. */
  readonly refuses?: RegExp;
  readonly demo?: "refuses";
  /** What is impossible here, by its step, and what that says. */
  readonly cannot?: Readonly<Partial<Record<Step, RegExp>>>;
}
