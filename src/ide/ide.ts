import type { Secret } from "../base/secret.ts";
import type { Capabilities, LanguageServer } from "../language-server/language-server.ts";
import type { Endpoint, IdeIdentity, IdeVariant } from "../language-server/transport/endpoint.ts";

/** A running IDE whose language server answered. */
export interface Ide {
  readonly variant: IdeVariant;
  /** The product's name for people: "Devin Desktop 3.10 (formerly Windsurf)". */
  readonly product: string;
  /** Names this server process: variant, pid and start time. Changes when the IDE restarts. */
  readonly id: string;
  readonly pid: number | undefined;
  readonly startedAtMs: number | undefined;
  readonly build: string;
  readonly endpoint: Endpoint;
  readonly identity: IdeIdentity;
  readonly capabilities: Capabilities | undefined;
  readonly signedIn: boolean;
  /** How long its port took to answer the search, in ms; absent where nothing asked. */
  readonly answeredInMs?: number;
  /** A stand-in of `millrace simulate`, and no product of the vendor. */
  readonly standIn?: true;
  /** The server of a remote window (ssh, a container, WSL): its editor and the account are on another side. */
  readonly isRemote?: true;
  /** `~/.codeium/windsurf` of the home it runs in: its conversations are below; undefined where that is not known. */
  readonly codeiumFolder?: string;
  /** Host name of the vendor's server that it was started for; undefined where its command line does not say. */
  readonly apiServer?: string;
  /** The `state.vscdb` that the key was read from; undefined if it came from another file. */
  readonly stateFile?: string;
}

/** The vendor's agent program (`devin`) that is installed here: it speaks ACP, and Millrace can start it. */
export interface AgentProgram {
  /** Whose plan its prompts are paid from; the ids that APIs use. */
  readonly variant: IdeVariant;
  /** The product's name for people: "Devin Desktop 3.10 (formerly Windsurf)", "Devin CLI". */
  readonly product: string;
  /** The executable. */
  readonly path: string;
  /** Part of the installed app, or a separate CLI. */
  readonly from: "app" | "cli";
  readonly version: string | undefined;
  /** Who it can ask for: `own`: the program's stored credentials; `editor`: only the app's state database has a key. */
  readonly signedIn: "own" | "editor" | "no";
  /** Of a stand-in of `millrace simulate`: used only where nothing real is there. */
  readonly standIn?: true;
  /** The home folder whose credentials it uses. */
  readonly home: string;
  /** Host name of the vendor's server that its own credentials are for; undefined where they do not say. */
  readonly apiServer?: string;
  /** The key of `credentials.toml` or `state.vscdb`, read when asked; handed to this program's environment only. */
  readonly readApiKey: (signal: AbortSignal) => Promise<Secret | undefined>;
}

/** An app of the vendor that is installed here, whether it runs or not. Never Antigravity. */
export interface InstalledApp {
  readonly variant: Exclude<IdeVariant, "antigravity">;
  /** As `Ide.product`. */
  readonly product: string;
  /** "" where its files do not say. */
  readonly version: string;
  /** Its `resources/app` folder. */
  readonly appRoot: string;
  /** Of a stand-in of `millrace simulate`. */
  readonly standIn?: true;
  readonly running: boolean;
}

/** The plan that an app saved for its signed-in account, not yet parsed. */
export interface SavedPlan {
  readonly variant: InstalledApp["variant"];
  /** The app's version; "" if it is unknown. */
  readonly build: string;
  /** The state database. */
  readonly file: string;
  /** When the app was started last, epoch ms: the rows were written then. Undefined if no log folder shows it. */
  readonly lastStartMs: number | undefined;
  /** JSON texts of today's form; one for each account that was ever signed in. */
  readonly accountRows: readonly string[];
  /** JSON text of the form that older builds wrote. */
  readonly oldRow: string | undefined;
  /** The account's status as the app last had it: base64 of a `UserStatus`. */
  readonly userStatus: string | undefined;
}

/** One decision of a search, in order: the subject, the rule and the result. Never holds a secret. */
export interface TraceEntry {
  readonly stage: "candidates" | "classify" | "credentials" | "ports" | "probe" | "agents";
  /** `pid 4242`, `port 42101`, `~/.config/Windsurf/User/globalStorage/state.vscdb`. */
  readonly subject: string;
  readonly rule: string;
  readonly verdict: "kept" | "rejected" | "note";
  readonly why: string;
}

export interface DiscoveryResult {
  /** In order of preference: Windsurf before Next before Antigravity, newest first. */
  readonly ides: readonly Ide[];
  /** In order of preference; also those whose app does not run. */
  readonly agents: readonly AgentProgram[];
  /** The apps that were found on disk or by their processes; absent where they were not looked for. */
  readonly apps?: readonly InstalledApp[];
  /** Reads the plans that the apps saved for their signed-in accounts, one for each variant, also if no app runs. Absent if apps were not looked for. */
  readonly readSavedPlans?: (signal: AbortSignal) => Promise<readonly SavedPlan[]>;
  readonly trace: readonly TraceEntry[];
  readonly atMs: number;
}

/** Knows which IDEs run now. One scan is shared by all callers; nothing is scanned while nothing asks. */
export interface IdeFinder {
  /** The last result if still believed, a fresh one otherwise. Never throws because nothing was found. */
  find(signal: AbortSignal): Promise<DiscoveryResult>;
  /**
   * Forgets the result: a call to this server failed as if it were gone; without an IDE: what is missing may be there by now. The next
   * `find` looks again, at other ports if this one belongs to a stranger.
   */
  invalidate(ide?: Ide, why?: "failed" | "stranger"): void;
  /**
   * A client of this IDE's server; the same one as long as endpoint and API key are the same. Before it is handed out, the
   * listening socket must still belong to the process that was found, and that process to this user. Throws
   * `ide_not_running` (and forgets the IDE) when that is no longer so. Source: docs/dev/wire/processes.md, "Before a credential is sent".
   */
  connect(ide: Ide, signal: AbortSignal): Promise<LanguageServer>;
  close(): void;
}
