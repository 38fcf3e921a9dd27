import { randomUUID } from "node:crypto";
import { createServer, type Server, type Socket } from "node:net";
import { Notifier } from "../../../src/base/notifier.ts";
import type { Secret } from "../../../src/base/secret.ts";
import type { QuotaError } from "../../account/plan.ts";
import { CallFaults } from "../../faults/call-faults.ts";
import type { TurnPlan } from "../../faults/turn-plan.ts";
import type { Growing } from "../../report.ts";
import { listenOnLoopback } from "../../wire/loopback.ts";
import type { AgentFault, AgentOptions } from "../agent-options.ts";
import { JsonRpc } from "../json-rpc.ts";
import type { AgentFact, AgentProcessReport, AgentReport, CallTerms, DeskQuestions } from "./desk-protocol.ts";

export interface AgentDeskOptions {
  readonly apiKey: Secret;
  readonly options: AgentOptions;
  readonly turn: TurnPlan;
  readonly exhausted: () => Promise<QuotaError | undefined>;
  /** A prompt was accepted; it costs this many credits. */
  readonly spend: (credits: number) => Promise<void>;
}

/** Steers and counts every `devin` process that is started below the stand-in's home, over a loopback connection. */
export class AgentDesk {
  readonly token: string = randomUUID();
  options: AgentOptions;
  turn: TurnPlan;
  readonly #parts: AgentDeskOptions;
  readonly #faults = new CallFaults<AgentFault>(({ method }) => method);
  readonly #server: Server;
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

  constructor(parts: AgentDeskOptions) {
    this.#parts = parts;
    this.options = parts.options;
    this.turn = parts.turn;
    this.#faults.replace(parts.options.faults);
    this.#server = createServer((socket) => this.#serve(socket));
  }

  /** Opens a free port of loopback. */
  listen(): Promise<number> {
    return listenOnLoopback(this.#server);
  }

  /** Replaces how agents behave; holds from the next call on, and faults are counted anew. */
  setOptions(options: AgentOptions): void {
    this.options = options;
    this.#faults.replace(options.faults);
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
    const answer = async (method: string, params: unknown) => {
      if (method === "hello") {
        process = this.#greeted(params as DeskQuestions["hello"]); // checked by its token
        if (process !== undefined) this.#processes.set(socket, rpc);
      }
      if (process === undefined) socket.destroy();
      else if (method === "call") return { result: await this.#terms((params as DeskQuestions["call"]).method) };
      else if (method === "note") await this.#take(params as DeskQuestions["note"]);
      return { result: null };
    };
    rpc.serve(socket, answer, () => {});
  }

  /** Writes a process down; undefined for a wrong token. */
  #greeted({ token, environment, ...known }: DeskQuestions["hello"]): AgentProcessReport | undefined {
    if (token !== this.token) return undefined;
    const process = { ...known, environment: this.#veiled(environment), running: true };
    this.#report.processes.push(process);
    this.#changed();
    return process;
  }

  async #terms(method: string): Promise<CallTerms> {
    this.#report.calls[method] = (this.#report.calls[method] ?? 0) + 1;
    const [fault] = this.#faults.hit(method);
    const exhausted = method === "session/prompt" ? await this.#parts.exhausted() : undefined;
    this.#changed();
    return {
      options: this.options,
      turn: this.turn,
      ...(exhausted === undefined ? {} : { exhausted }),
      ...(fault === undefined ? {} : { fault }),
    };
  }

  async #take(fact: AgentFact): Promise<void> {
    const report = this.#report;
    if (fact.list === "browserOpened") report.browserOpened++;
    else if (fact.list !== "deletes")
      report[fact.list].push(fact.entry as never); // a fact's entry is one of its list
    else if (!report.deletes.includes(fact.entry)) {
      // A session without a prompt is not stored; one that a killed process deleted is counted when it is asked for again.
      if (report.prompts.some(({ sessionId }) => sessionId === fact.entry)) report.deletes.push(fact.entry);
    }
    if ("credits" in fact && fact.credits > 0) await this.#parts.spend(fact.credits);
    this.#changed();
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
