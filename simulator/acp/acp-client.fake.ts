import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Notifier } from "../../src/base/notifier.ts";
import { patience } from "../rpc-client.fake.ts";
import { readLines } from "./json-rpc.ts";

/** A JSON-RPC message as it came over the pipe. */
export interface Wire {
  readonly id?: number;
  readonly method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: a raw client looks into any message
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

type Answerer = (request: Wire) => { readonly result: unknown } | { readonly error: unknown } | undefined;

/** Speaks raw JSON-RPC with a real `devin acp` process and keeps every line. */
export class RawClient implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly messages: Wire[] = [];
  /** Lines that were no JSON. */
  readonly noise: string[] = [];
  stderr = "";
  readonly exited: Promise<void>;
  /** Answers the agent's requests; nothing by default. */
  onRequest: Answerer = () => undefined;
  #lastId = 0;
  readonly #changes = new Notifier();
  #ended = false;

  constructor(path: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    this.child = spawn(path, args, { env: { ...env }, stdio: ["pipe", "pipe", "pipe"] });
    this.child.stdin?.on("error", () => {}); // the agent has died: the test sees that elsewhere
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    if (this.child.stdout !== null) readLines(this.child.stdout, (line) => this.#receive(line));
    this.exited = this.#whenClosed();
  }

  /** Sends a request and gives its whole reply. Rejects when the agent ends before. */
  async call(method: string, params: object): Promise<Wire> {
    const id = this.begin(method, params);
    return await this.until((message) => message.id === id && message.method === undefined);
  }

  /** Sends a request without waiting. */
  begin(method: string, params: object): number {
    const id = ++this.#lastId;
    this.#send({ id, method, params });
    return id;
  }

  notify(method: string, params: object): void {
    this.#send({ method, params });
  }

  async initialize(name = "millrace"): Promise<Wire> {
    return await this.call("initialize", {
      protocolVersion: 1,
      clientCapabilities: {},
      clientInfo: { name, version: "1" },
    });
  }

  /** A new session's id, after `initialize`. */
  async open(cwd = "/tmp"): Promise<string> {
    await this.initialize();
    return String((await this.call("session/new", { cwd, mcpServers: [] })).result.sessionId);
  }

  async prompt(sessionId: string, text: string): Promise<Wire> {
    return await this.call("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }

  /** The first message that passes, also one from before. Rejects when the agent ends without one. */
  async until(passes: (message: Wire) => boolean): Promise<Wire> {
    const signal = patience();
    for (;;) {
      const found = this.messages.find(passes);
      if (found !== undefined) return found;
      if (this.#ended) throw new Error(`the agent ended; it wrote: ${this.stderr}`);
      await this.#changes.wait(signal);
    }
  }

  /** Updates of one kind, in order. */
  updates(kind: string) {
    return this.messages
      .filter(({ method, params }) => method === "session/update" && params.update.sessionUpdate === kind)
      .map(({ params }) => params.update);
  }

  /** The answer's text: all chunks that are not the program's own. */
  text(): string {
    return this.updates("agent_message_chunk")
      .filter((update) => update._meta === undefined)
      .map((update) => update.content.text)
      .join("");
  }

  async end(): Promise<void> {
    this.child.stdin?.end();
    await this.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }

  async #whenClosed(): Promise<void> {
    await once(this.child, "close");
    this.#ended = true;
    this.#changed();
  }

  #receive(line: string): void {
    let message: Wire;
    try {
      message = JSON.parse(line) as Wire;
    } catch {
      this.noise.push(line);
      return;
    }
    this.messages.push(message);
    if (message.id !== undefined && message.method !== undefined) {
      const answer = this.onRequest(message);
      if (answer !== undefined) this.#send({ id: message.id, ...answer });
    }
    this.#changed();
  }

  #send(message: object): void {
    this.child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #changed(): void {
    this.#changes.wake();
  }
}
