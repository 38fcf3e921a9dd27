import type { Owner, Variables } from "./owner.ts";

/** What one start of an agent gets in place of its owner's settings. */
export interface Launch {
  /** Files of its own home: their content by their path. */
  readonly files: Readonly<Record<string, string>>;
  readonly environment: Variables;
  readonly args?: readonly string[];
}

/**
 * An agent program that gets a home of its own, so that its owner's settings, programs and notes do not exist for it. A mode alone
 * fences nothing. Source: docs/dev/wire/acp.md, "Modes and what they prevent".
 */
export interface KnownAgent {
  /** In the name of its program, and of each adapter for it. */
  readonly program: RegExp;
  /** The oldest and the newest version that `npm test -- programs agents` ran with, by what the adapter says in `agentInfo.name`. */
  readonly tried: Readonly<Record<string, readonly [oldest: string, newest: string]>>;
  /** The package of its newest version. */
  readonly npm: string;
  readonly mode: string;
  /** Those of its own variables that it keeps: its sign-in, and where its model is. */
  readonly keeps: RegExp;
  /** Files and folders of a machine's administrator, on any system, that win over what it is started with: where there is one, it is not started. */
  readonly system?: readonly string[];
  /** Files of its owner's sign-in, which stand in its own home as links. */
  readonly signIn: readonly string[];
  /** `server`: the name of our MCP server. */
  readonly launch: (owner: Owner, home: string, server: string) => Promise<Launch>;
  /** `_meta` of `session/new` and `session/load`. */
  readonly meta?: object;
  /**
   * Its sessions in one folder share their MCP servers by name: the newest one's server gets the calls of all. So each session with the
   * client's tools needs a folder of its own. Source: docs/dev/wire/acp.md, "The server of a session".
   */
  readonly sharesServers?: true;
}

/** The name of a file that is nowhere, in place of those that an agent reads notes from in the folders above its own. */
export const noMemory = "millrace-reads-no-notes.md";
