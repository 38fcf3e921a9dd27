import type { StateRead } from "../account/state-db.ts";
import { holdings } from "../process/shared-ports.ts";
import {
  type FileFacts,
  type Host,
  type HostKind,
  type ListeningSocket,
  type Platform,
  type ProcessRow,
  serverEnvironment,
} from "./host.ts";

/** A process of a fake machine. */
export interface FakeProcess {
  readonly row: ProcessRow;
  readonly environment?: Readonly<Record<string, string>>;
  readonly listening?: readonly ListeningSocket[];
}

/** A machine that a test sets up, with the manners of a real one (`host.conformance.ts`); it counts how often its processes were listed. */
export class FakeHost implements Host {
  readonly platform: Platform;
  readonly home = "/home/me";
  readonly checkMayWait: boolean = false;
  readonly processes = new Map<number, FakeProcess>();
  readonly states = new Map<string, Readonly<Record<string, string>>>();
  readonly texts = new Map<string, string>();
  readonly around: HostKind[] = [];
  readonly variables: Record<string, string | undefined> = {};
  /** Files by path, as far as they are not in `texts`; of those too, what differs from an ordinary file. */
  readonly files = new Map<string, Partial<FileFacts>>();
  scans = 0;
  /** How often it was asked who listens. */
  socketQuestions = 0;
  /** Answers that question instead, when a test sets it. */
  beforeAnswer: (() => { readonly ok: false; readonly why: string }) | undefined;

  constructor(platform: Platform = "linux") {
    this.platform = platform;
  }

  add(process: FakeProcess): void {
    this.processes.set(process.row.pid, process);
  }

  async listProcesses(...[select, signal]: Parameters<Host["listProcesses"]>): ReturnType<Host["listProcesses"]> {
    signal.throwIfAborted();
    this.scans++;
    const processes = [...this.processes.values()].map(({ row }) => row).filter(({ command }) => select(command));
    return { ok: true, value: { processes, looked: this.processes.size, source: "fake" } };
  }

  async readProcess(pid: number, signal: AbortSignal): Promise<ProcessRow | undefined> {
    signal.throwIfAborted();
    return this.processes.get(pid)?.row;
  }

  isAlive(pid: number): boolean {
    return this.processes.has(pid);
  }

  async readEnvironment({ pid }: ProcessRow, signal: AbortSignal): ReturnType<Host["readEnvironment"]> {
    signal.throwIfAborted();
    const environment = this.processes.get(pid)?.environment;
    if (environment === undefined) return { ok: false, why: "hidden" };
    return { ok: true, value: serverEnvironment(Object.entries(environment)) };
  }

  /** Shared if a test says so, or if another process here listens on the same port. */
  async holderOf(port: number, signal: AbortSignal): Promise<ProcessRow | undefined> {
    signal.throwIfAborted();
    return [...this.processes.values()].find(({ listening = [] }) => listening.some((one) => one.port === port))?.row;
  }

  async listListening(pid: number, signal: AbortSignal): ReturnType<Host["listListening"]> {
    signal.throwIfAborted();
    this.socketQuestions++;
    const instead = this.beforeAnswer?.();
    if (instead !== undefined) return instead;
    const rows = [...this.processes.values()].flatMap(({ row, listening = [] }) =>
      listening.map((socket) => ({ ...socket, pid: row.pid })),
    );
    const said = rows.filter((row) => row.pid === pid);
    const seen = holdings(rows, pid);
    return {
      ok: true,
      value: seen.map((socket, i) => ({ ...socket, shared: socket.shared || said[i]?.shared === true })),
    };
  }

  async surroundings(): Promise<readonly HostKind[]> {
    return this.around;
  }

  async readText(path: string, maxBytes: number, signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted();
    const text = this.texts.get(path);
    return text === undefined || text.length > maxBytes ? undefined : text;
  }

  /** The entries of a folder that the paths of texts, states and files imply. */
  async listFolder(folder: string, signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    const paths = [...this.texts.keys(), ...this.states.keys(), ...this.files.keys()];
    const below = paths.filter((path) => path.startsWith(`${folder}/`) || path.startsWith(`${folder}\\`));
    return [...new Set(below.map((path) => path.slice(folder.length + 1).split(/[\\/]/)[0] ?? ""))].sort();
  }

  async fileFacts(path: string, signal: AbortSignal): Promise<FileFacts | undefined> {
    signal.throwIfAborted();
    const special = this.files.get(path);
    if (special === undefined && !this.texts.has(path) && !this.states.has(path)) return undefined;
    return { realPath: path, kind: "file", modifiedMs: 0, executable: true, risk: undefined, ...special };
  }

  async readState(path: string, keys: readonly string[]): Promise<StateRead> {
    const state = this.states.get(path);
    if (state === undefined) return { kind: "missing" };
    const asked = (name: string) =>
      keys.some((key) => (key.endsWith("*") ? name.startsWith(key.slice(0, -1)) : name === key));
    return { kind: "read", values: new Map(Object.entries(state).filter(([key]) => asked(key))) };
  }
}

/** An ordinary Windsurf of this user, with its token in the environment and one loopback port. */
export function fakeWindsurf(pid: number, port: number, token = `token-${pid}`): FakeProcess {
  return {
    row: {
      pid,
      parentPid: 1,
      owner: "self",
      startedAtMs: 1_750_000_000_000 + pid,
      command: { program: "/opt/windsurf/bin/language_server_linux_x64", args: ["--ide_name", "windsurf"] },
      zombie: false,
      elsewhere: undefined,
    },
    environment: { HOME: "/home/me", WINDSURF_CSRF_TOKEN: token },
    listening: [{ address: "127.0.0.1", port, shared: false }],
  };
}
