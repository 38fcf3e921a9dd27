import { MillraceError } from "../../../base/errors.ts";
import { isObject, type JsonObject, parseJson } from "../../../base/json.ts";

/** The environment that an agent's user gives it. */
export type Variables = Readonly<Record<string, string>>;

/**
 * An agent program whose own tools can be taken away, and how. A mode alone does not do it: where the owner allowed a tool, each of them but
 * Codex runs it in its `plan` mode too. Source: docs/dev/wire/acp.md, "Modes and what they prevent".
 */
export interface KnownAgent {
  /** In the name of the program, and in `agentInfo.name`. */
  readonly name: RegExp;
  readonly args?: (file: string, given: Variables) => readonly string[];
  readonly environment?: (file: string, given: Variables) => Variables;
  /** The content of the file that `args` or `environment` name. */
  readonly file?: string;
  /** Files in its working folder: their content by their path. */
  readonly inFolder?: (given: Variables) => Readonly<Record<string, string>>;
  readonly meta?: object;
  /** The version from which on a model was seen to call the tools of a session's server under these settings. Older ones list them and call none. */
  readonly servesSince?: string;
  /**
   * Its sessions in one folder share their MCP servers by name: the newest one's server gets the calls of all. So each session with the
   * client's tools needs a folder of its own. Source: docs/dev/wire/acp.md, "The server of a session".
   */
  readonly sharesServers?: true;
}

/** The name of a file that is nowhere, in place of those that an agent reads its owner's notes from. */
export const noMemory = "millrace-reads-no-notes.md";

/** The object in a variable that the agent's user may have set; empty without it. */
export function parsedObject(given: Variables, name: string): JsonObject {
  try {
    const parsed: unknown = parseJson(given[name] ?? "{}");
    if (isObject(parsed)) return parsed;
  } catch {
    // refused below
  }
  throw new MillraceError("invalid_request", `${name} of an agent is not a JSON object.`, {
    hint: "Correct the variable in config.toml, or put the settings into a file of the agent's.",
  });
}
