import type { Secret } from "../../../base/secret.ts";

/** The last part of the folder in which agents run, by which they name their sessions. */
export const workingFolder = "millrace-empty";

/** `ask`: the agent's default type in a mode without writing. `summarizer`: Devin's agent type that has no tools at all. */
export type AcpStyle = "ask" | "summarizer";

/** One agent program that speaks ACP over stdio, and how Millrace starts it. */
export interface AcpAgentSpec {
  /** Names the agent in models and conversation ids: "devin" for the vendor's, else the user's own name. No `:` and no `/`. */
  readonly name: string;
  /** Whose plan pays, as `started.ide` says it: "windsurf", "windsurf-next", or the agent's name. */
  readonly ide: string;
  readonly vendor: "devin" | "other";
  /** The executable: an absolute path, or a name that `environment.PATH` leads to. */
  readonly command: string;
  /** Arguments that start its ACP server: `["acp"]`. */
  readonly args: readonly string[];
  /** The whole environment of the process; nothing else is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** More variables that are secret, read each time a process starts. */
  readonly secrets?: (signal: AbortSignal) => Promise<Readonly<Record<string, Secret>>>;
  /** Its user lets it act: it keeps its owner's settings and mode, and its own tools end no turn. */
  readonly allowsActions?: boolean;
  /** A folder of Millrace's own: the empty working folders of the sessions, and notes of the processes, are kept below it. */
  readonly folder: string;
}
