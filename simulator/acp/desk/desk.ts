import { randomUUID } from "node:crypto";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { Notifier } from "../../../src/base/notifier.ts";
import type { Secret } from "../../../src/base/secret.ts";
import type { QuotaError } from "../../account/plan.ts";
import { CallFaults } from "../../faults/call-faults.ts";
import type { TurnPlan } from "../../faults/turn-plan.ts";
import { installPrograms } from "../../install.ts";
import type { Layout } from "../../layout.ts";
import type { SimulatorConfig } from "../../options.ts";
import type { Growing } from "../../report.ts";
import { listenOnLoopback } from "../../wire/loopback.ts";
import type { AgentFault, AgentOptions } from "../agent-options.ts";
import { JsonRpc } from "../json-rpc.ts";
import type { AgentProcessReport, AgentReport, AgentSettings, CallTerms, NoteList } from "./desk-protocol.ts";

interface DeskParts {
  readonly config: SimulatorConfig;
  readonly home: string;
  readonly layout: Layout;
  readonly apiKey: Secret;
  /** No app is installed, so that the CLI is, unless the options say otherwise. */
  readonly cliOnly: boolean;
  readonly compileCache: { readonly compileCache?: string };
  readonly exhausted: () => Promise<QuotaError | undefined>;
  /** A prompt was accepted; it costs this many credits. */
  readonly spend: (credits: number) => Promise<void>;
}

/** Steers and counts every `devin` process that is started below the stand-in's home, over a loopback connection. */
export class AgentDesk {
  readonly #parts: DeskParts;
  readonly #token: string = randomUUID();
  #options: AgentOptions;
  #turn: TurnPlan;
  #port = 0;
  readonly #faults = new CallFaults<AgentFault>(({ method }) => method);
  readonly #server = createServer((socket) => this.#serve(socket));
  /** Connections of the processes that run. */
  readonly #processes = new Map<Socket, JsonRpc>();
  #version = 0;
  readonly #changes = new Notifier();
  readonly #report: Growing<Omit<AgentReport, "version">> = {
    processes: [],
    clients: [],
    calls: {},
    prompts: [],
    refusedPrompts: [],
    sessions: [],
    ended: [],
    cancels: [],
    deletes: [],
    permissions: [],
    diagnostics: [],
    browserOpened: 0,
  };

  constructor(parts: DeskParts) {
    this.#parts = parts;
    this.#options = parts.config.agent;
    this.#turn = parts.config.turn;
    this.#faults.replace(this.#options.faults);
  }

  /** Where the CLI's program lies; undefined where it is not installed. */
  get cliPath(): string | undefined {
    const { config, cliOnly, layout } = this.#parts;
    return (config.agent.cli ?? cliOnly) ? layout.cli : undefined;
  }

  /** Opens a free port of loopback, and installs the programs. */
  async open(): Promise<void> {
    this.#port = await listenOnLoopback(this.#server);
    await this.#install();
  }

  /** Replaces how agents behave; holds from the next call on, and faults are counted anew. How they are installed does not change. */
  async setOptions(options: AgentOptions): Promise<void> {
    this.#options = options;
    this.#faults.replace(options.faults);
    await this.#install();
  }

  async setTurn(turn: TurnPlan): Promise<void> {
    this.#turn = turn;
    await this.#install();
  }

  report(): AgentReport {
    return { version: this.#version, ...structuredClone(this.#report) };
  }

  /** The first report that passes; waits for changes, not for time. Throws the signal's reason. */
  async until(passes: (report: AgentReport) => boolean, signal: AbortSignal): Promise<AgentReport> {
    for (;;) {
      const report = this.report();
      if (passes(report)) return report;
      await this.#changes.wait(signal);
    }
  }

  /** Releases every answer that holds. */
  release(): void {
    for (const rpc of this.#processes.values()) rpc.notify("release", {});
  }

  async close(): Promise<void> {
    for (const socket of this.#processes.keys()) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #install(): Promise<void> {
    const { config, home, layout, apiKey, compileCache } = this.#parts;
    const settings: AgentSettings = {
      port: this.#port,
      token: this.#token,
      home,
      cliData: layout.cliData,
      apiKey: apiKey.reveal(),
      options: this.#options,
      turn: this.#turn,
      ...compileCache,
    };
    const cli = this.cliPath;
    await installPrograms(settings, {
      settingsFile: join(home, ".millrace-simulator", "agent.json"),
      node: process.execPath,
      agent: layout.agent,
      cli,
      marked: !config.unmarked,
      signedIn: config.agent.credentials ?? (cli !== undefined && !config.signedOut),
    });
  }

  #serve(socket: Socket): void {
    let process: AgentProcessReport | undefined;
    const rpc = new JsonRpc((line) => socket.write(line));
    socket.setNoDelay(true);
    socket.on("error", () => {}); // `close` follows
    socket.on("close", () => {
      this.#processes.delete(socket);
      if (process === undefined) return;
      process.running = false;
      this.#changed();
    });
    // The questions are those of `DeskLink`. The first must name the token.
    const answer = async (method: string, params: unknown) => {
      if (method === "hello") {
        const { token, environment, ...known } = params as AgentProcessReport & { readonly token: string };
        if (token === this.#token) {
          process = { ...known, environment: this.#veiled(environment), running: true };
          this.#report.processes.push(process);
          this.#processes.set(socket, rpc);
        }
      }
      if (process === undefined) socket.destroy();
      else if (method === "call") return { result: await this.#terms((params as { readonly method: string }).method) };
      else if (method === "note") await this.#take(params as { list: NoteList; entry: unknown; credits: number });
      else if (method === "browserOpened") this.#report.browserOpened++;
      this.#changed();
      return { result: null };
    };
    rpc.serve(socket, answer, () => {});
  }

  async #terms(method: string): Promise<CallTerms> {
    this.#report.calls[method] = (this.#report.calls[method] ?? 0) + 1;
    const [fault] = this.#faults.hit(method);
    const exhausted = method === "session/prompt" ? await this.#parts.exhausted() : undefined;
    this.#changed();
    return { options: this.#options, turn: this.#turn, exhausted, fault };
  }

  async #take({ list, entry, credits }: { list: NoteList; entry: unknown; credits: number }): Promise<void> {
    const { deletes, prompts } = this.#report;
    // A session without a prompt is not stored; one that a killed process deleted is counted when it is asked for again.
    const isCounted =
      list !== "deletes" ||
      (!deletes.includes(entry as string) && prompts.some(({ sessionId }) => sessionId === entry));
    if (isCounted) this.#report[list].push(entry as never); // a note's entry is one of its list
    if (credits > 0) await this.#parts.spend(credits);
  }

  #veiled(environment: Readonly<Record<string, string>>): Record<string, string> {
    const key = environment["WINDSURF_API_KEY"];
    if (key === undefined) return { ...environment };
    return { ...environment, WINDSURF_API_KEY: key === this.#parts.apiKey.reveal() ? "[the account's]" : "[another]" };
  }

  #changed(): void {
    this.#version++;
    this.#changes.wake();
  }
}
