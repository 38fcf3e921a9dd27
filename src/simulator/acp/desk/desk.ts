import { randomUUID } from "node:crypto";
import { createServer, type Server, type Socket } from "node:net";
import { Notifier } from "../../../base/notifier.ts";
import type { Secret } from "../../../base/secret.ts";
import type { QuotaError } from "../../account/plan.ts";
import type { TurnPlan } from "../../faults/turn-plan.ts";
import { listenOnLoopback } from "../../wire/loopback.ts";
import { AgentFaults, type AgentOptions } from "../agent-options.ts";
import { readLines } from "./desk-link.ts";
import type { AgentFact, AgentPrompt, CallTerms, FromDesk, ToDesk } from "./desk-protocol.ts";

/** A `devin` process that was started. */
export interface AgentProcessReport {
  readonly pid: number;
  readonly arguments: readonly string[];
  /** The environment at its start; each key is replaced by the name of its owner. */
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
  running: boolean;
}

/** The history of all `devin` processes since the simulator's start. */
export interface AgentReport {
  /** Rises with every change. */
  readonly version: number;
  readonly processes: readonly Readonly<AgentProcessReport>[];
  readonly clients: readonly { readonly pid: number; readonly client: unknown; readonly capabilities: unknown }[];
  /** Calls and notifications by method, refused ones included. */
  readonly calls: Readonly<Record<string, number>>;
  /** Prompts that the agent stored: each of them costs. */
  readonly prompts: readonly AgentPrompt[];
  /** Texts of prompts that were refused before they were stored. */
  readonly refusedPrompts: readonly string[];
  readonly sessions: readonly {
    readonly pid: number;
    readonly sessionId: string;
    readonly cwd: string;
    readonly how: "new" | "load";
  }[];
  /** Ended turns, with their cause as in `agent_stopped`. */
  readonly ended: readonly { readonly sessionId: string; readonly cause: string }[];
  readonly cancels: readonly { readonly sessionId: string; readonly idle: boolean }[];
  /** Stored sessions that an agent was asked to delete, and does not have any more; each once. */
  readonly deletes: readonly string[];
  /** The client's answers to permission requests: the option's id, or `cancelled`. */
  readonly permissions: readonly { readonly sessionId: string; readonly outcome: string }[];
  /** Requests for diagnostics, and whether each was answered without an error. */
  readonly diagnostics: readonly boolean[];
  /** How often a browser would have been opened for a sign-in. */
  readonly browserOpened: number;
}

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
  readonly #faults = new AgentFaults();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #version = 0;
  readonly #changes = new Notifier();
  readonly #report = {
    processes: [] as AgentProcessReport[],
    clients: [] as AgentReport["clients"][number][],
    calls: {} as Record<string, number>,
    prompts: [] as AgentPrompt[],
    refusedPrompts: [] as string[],
    sessions: [] as AgentReport["sessions"][number][],
    ended: [] as AgentReport["ended"][number][],
    cancels: [] as AgentReport["cancels"][number][],
    deletes: [] as string[],
    permissions: [] as AgentReport["permissions"][number][],
    diagnostics: [] as boolean[],
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
    for (const socket of this.#sockets) send(socket, { push: "release" });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #serve(socket: Socket): void {
    let process: AgentProcessReport | undefined;
    let answered: Promise<void> = Promise.resolve();
    socket.setNoDelay(true);
    socket.on("error", () => {}); // `close` follows
    socket.on("close", () => {
      this.#sockets.delete(socket);
      if (process === undefined) return;
      process.running = false;
      this.#changed();
    });
    readLines(socket, (line) => {
      const question = JSON.parse(line) as ToDesk; // checked by the token below
      if (question.ask === "hello") {
        if (question.token !== this.token) {
          socket.destroy();
          return;
        }
        const { pid, cwd } = question;
        process = {
          pid,
          arguments: question.arguments,
          environment: this.#veiled(question.environment),
          cwd,
          running: true,
        };
        this.#report.processes.push(process);
        this.#sockets.add(socket);
        this.#changed();
        send(socket, { id: question.id, answer: null });
        return;
      }
      const { pid } = process ?? {};
      if (pid === undefined) {
        socket.destroy();
        return;
      }
      answered = this.#answer(answered, socket, pid, question);
      answered.catch(() => socket.destroy());
    });
  }

  /** Questions of one process are answered in their order. */
  async #answer(
    earlier: Promise<void>,
    socket: Socket,
    pid: number,
    question: Exclude<ToDesk, { readonly ask: "hello" }>,
  ): Promise<void> {
    await earlier;
    const { id } = question;
    if (question.ask === "call") {
      send(socket, { id, answer: await this.#terms(question.method) });
    } else {
      await this.#take(pid, question.fact);
      send(socket, { id, answer: null });
    }
  }

  async #terms(method: string): Promise<CallTerms> {
    this.#report.calls[method] = (this.#report.calls[method] ?? 0) + 1;
    const fault = this.#faults.hit(method);
    const exhausted = method === "session/prompt" ? await this.#parts.exhausted() : undefined;
    this.#changed();
    return {
      options: this.options,
      turn: this.turn,
      ...(exhausted === undefined ? {} : { exhausted }),
      ...(fault === undefined ? {} : { fault }),
    };
  }

  async #take(pid: number, fact: AgentFact): Promise<void> {
    const report = this.#report;
    switch (fact.is) {
      case "client":
        report.clients.push({ pid, client: fact.client, capabilities: fact.capabilities });
        break;
      case "session":
        report.sessions.push({ pid, sessionId: fact.sessionId, cwd: fact.cwd, how: fact.how });
        break;
      case "prompt":
        report.prompts.push(fact.prompt);
        if (fact.credits > 0) await this.#parts.spend(fact.credits);
        break;
      case "refused":
        report.refusedPrompts.push(fact.text);
        break;
      case "ended":
        report.ended.push({ sessionId: fact.sessionId, cause: fact.cause });
        break;
      case "cancel":
        report.cancels.push({ sessionId: fact.sessionId, idle: fact.idle });
        break;
      case "delete": {
        const { sessionId } = fact;
        // A session without a prompt is not stored; one that a killed process deleted is counted when it is asked for again.
        const wasStored = report.prompts.some((prompt) => prompt.sessionId === sessionId);
        if (wasStored && !report.deletes.includes(sessionId)) report.deletes.push(sessionId);
        break;
      }
      case "permission":
        report.permissions.push({ sessionId: fact.sessionId, outcome: fact.outcome });
        break;
      case "diagnostics":
        report.diagnostics.push(fact.answered);
        break;
      case "browser":
        report.browserOpened++;
        break;
      default:
        fact satisfies never;
    }
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

function send(socket: Socket, message: FromDesk): void {
  socket.write(`${JSON.stringify(message)}\n`);
}
