import type { StateRead } from "../account/state-db.ts";

/** The operating systems that discovery knows. */
export type Platform = "linux" | "darwin" | "windows";

/** How a process was started: its own name of the program, and the arguments. */
export interface CommandLine {
  readonly program: string;
  readonly args: readonly string[];
}

/** A variable in the environment of every stand-in; see docs/dev/simulator.md. */
export const standInVariable = "MILLRACE_STAND_IN";

/** What discovery reads of another process' environment, on every system; nothing else of it is kept. */
export const serverVariables = [
  "WINDSURF_CSRF_TOKEN",
  standInVariable,
  "HOME",
  "USERPROFILE",
  "APPDATA",
  "XDG_CONFIG_HOME",
  "VSCODE_PORTABLE",
  "CODEIUM_EDITOR_APP_ROOT",
] as const;
type ServerVariable = (typeof serverVariables)[number];
export type ServerEnvironment = ReadonlyMap<ServerVariable, string>;

/** The variables of an environment that discovery reads. The first of two equal names wins, as for `getenv`. */
export function serverEnvironment(pairs: Iterable<readonly [name: string, value: string]>): ServerEnvironment {
  const found = new Map<ServerVariable, string>();
  for (const [name, value] of pairs) {
    const known = serverVariables.find((one) => one === name);
    if (known !== undefined && !found.has(known)) found.set(known, value);
  }
  return found;
}

/** A process as the system lists it. */
export interface ProcessRow {
  readonly pid: number;
  readonly parentPid: number | undefined;
  /** Whether the process belongs to the user of this process; "unknown" if the system does not say. */
  readonly owner: "self" | "other" | "unknown";
  /** Epoch ms; undefined where the system does not say. The same number for the same process on every reading. */
  readonly startedAtMs: number | undefined;
  readonly command: CommandLine;
  /** Ended, but not yet collected by its parent: it has no memory, no sockets and usually no arguments. */
  readonly zombie: boolean;
  /** Why its loopback is not ours (another network namespace); undefined when it is. */
  readonly elsewhere: string | undefined;
}

/** A socket that a process listens on. */
export interface ListeningSocket {
  /** As the system names it, without brackets: `127.0.0.1`, `::1`, `0.0.0.0`. */
  readonly address: string;
  readonly port: number;
  /** Whether another process listens on the same port too, so that a connection may reach either. */
  readonly shared: boolean;
}

/** A process's identity and its listener at one port, both at the same moment. */
export interface HolderLook {
  /** `undefined` when the process is gone. */
  readonly row: Pick<ProcessRow, "owner" | "startedAtMs" | "zombie" | "elsewhere"> | undefined;
  readonly sockets: HostResult<readonly ListeningSocket[]>;
}

/** Facts of the file at a path, symbolic links followed. */
export interface FileFacts {
  /** The path without links. */
  readonly realPath: string;
  readonly kind: "file" | "folder" | "other";
  /** Epoch ms of the last change of its content. */
  readonly modifiedMs: number;
  /** Whether this user may run it; always true on Windows, where the name's ending decides. */
  readonly executable: boolean;
  /**
   * Why another user could change or replace the file; undefined when no other user can. The administrator does not count.
   * Windows keeps such rights in lists, which are not read here.
   */
  readonly risk: string | undefined;
}

/** The system's answer, or the reason for its refusal. `why` is one sentence part for a person; never a secret. */
export type HostResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string };

/** The gateway's own surroundings, as far as they change what can be found. */
export type HostKind = "wsl" | "container" | "flatpak";

export interface ProcessList {
  readonly processes: readonly ProcessRow[];
  /** How many processes were looked at in all. */
  readonly looked: number;
  /** Which tool or file answered: `/proc`, `ps`, `CIM`. */
  readonly source: string;
}

/**
 * Discovery's questions to an operating system: the only seam between `ide/` and the machine. No call changes anything. Every call
 * ends within its own time limit or when `signal` aborts. None throws because something is missing or forbidden: that is a
 * `HostResult`. Only the signal's reason is thrown.
 */
export interface Host {
  readonly platform: Platform;
  /** Whether reading a process and its sockets starts other programs, so that it is not done before every call. */
  readonly checkMayWait: boolean;
  /** The home folder of the user who runs us. */
  readonly home: string;
  /** Variables of our own environment: where programs and data are looked for. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Processes whose command line passes `select`, in no particular order. */
  listProcesses(select: (command: CommandLine) => boolean, signal: AbortSignal): Promise<HostResult<ProcessList>>;
  /** The current state of one process; `undefined` when it has ended. */
  readProcess(pid: number, signal: AbortSignal): Promise<ProcessRow | undefined>;
  /** Whether the process exists, without asking more; cheap and synchronous. */
  isAlive(pid: number): boolean;
  readEnvironment(process: ProcessRow, signal: AbortSignal): Promise<HostResult<ServerEnvironment>>;
  /** TCP sockets this process listens on. */
  listListening(pid: number, signal: AbortSignal): Promise<HostResult<readonly ListeningSocket[]>>;
  /** The process that listens on this TCP port; undefined where there is none, or the system does not say (one of another user). */
  holderOf(port: number, signal: AbortSignal): Promise<ProcessRow | undefined>;
  /** A process and its sockets at one port, in a look that waits for nothing; missing where the system allows none. */
  readonly lookNow?: (pid: number, port: number) => HolderLook;
  /** Where we run; empty on an ordinary machine. */
  surroundings(signal: AbortSignal): Promise<readonly HostKind[]>;
  /** A small text file; `undefined` when it is missing, unreadable or longer than `maxBytes`. */
  readText(path: string, maxBytes: number, signal: AbortSignal): Promise<string | undefined>;
  /** Names in a folder; empty when it is missing or unreadable. */
  listFolder(path: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Facts of the file at a path; `undefined` when it is missing or forbidden. */
  fileFacts(path: string, signal: AbortSignal): Promise<FileFacts | undefined>;
  /** Values of these keys from an IDE's `state.vscdb`, which is neither locked, copied nor changed. `name*` asks for all keys that begin so. */
  readState(path: string, keys: readonly string[], signal: AbortSignal): Promise<StateRead>;
}
