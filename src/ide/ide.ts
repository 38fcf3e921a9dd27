import type { Endpoint, IdeIdentity, IdeVariant } from "../language-server/endpoint.ts";
import type { Capabilities, LanguageServer } from "../language-server/language-server.ts";

/** A running IDE whose language server answered. */
export interface Ide {
  readonly variant: IdeVariant;
  /** Names this server process: variant, pid and start time. Changes when the IDE restarts. */
  readonly id: string;
  readonly pid: number | undefined;
  readonly startedAtMs: number | undefined;
  readonly build: string;
  readonly endpoint: Endpoint;
  readonly identity: IdeIdentity;
  readonly capabilities: Capabilities | undefined;
  readonly signedIn: boolean;
  /** `~/.codeium/windsurf` of the home it runs in: its conversations are below; undefined where that is not known. */
  readonly codeiumFolder?: string;
}

/** One decision of a discovery, in order: what was looked at, by which rule, and what came of it. Never holds a secret. */
export interface TraceEntry {
  readonly stage: "candidates" | "classify" | "credentials" | "ports" | "probe";
  /** `pid 4242`, `port 42101`, `~/.config/Windsurf/User/globalStorage/state.vscdb`. */
  readonly subject: string;
  readonly rule: string;
  readonly verdict: "kept" | "rejected" | "note";
  readonly why: string;
}

export interface DiscoveryResult {
  /** In order of preference: Windsurf before Next before Antigravity, newest first. */
  readonly ides: readonly Ide[];
  readonly trace: readonly TraceEntry[];
  readonly atMs: number;
}

/** Knows which IDEs run now. One scan is shared by all callers; nothing is scanned while nothing asks. */
export interface IdeFinder {
  /** The last result if still believed, a fresh one otherwise. Never throws because nothing was found. */
  find(signal: AbortSignal): Promise<DiscoveryResult>;
  /** Forgets what was found: a call to this server failed as if it were gone. The next `find` looks again. */
  invalidate(ide: Ide): void;
  /**
   * A client of this IDE's server; the same one as long as endpoint and API key are the same. Before it is handed out, the
   * listening socket must still belong to the process that was found, and that process to this user. Throws
   * `ide_not_running` (and forgets the IDE) when that is no longer so. Source: design.md, decision 5.
   */
  connect(ide: Ide, signal: AbortSignal): Promise<LanguageServer>;
  close(): void;
}
