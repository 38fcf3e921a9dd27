import { connect, type Socket } from "node:net";
import process from "node:process";
import type { AgentFact, AgentSettings, CallTerms, DeskQuestion, FromDesk } from "./desk-protocol.ts";

/**
 * A `devin` process's connection to the simulator, which counts its calls. If no simulator runs any more, the process uses the
 * settings file of its launcher, and nothing is counted.
 */
export class DeskLink {
  readonly #settings: AgentSettings;
  readonly #onRelease: () => void;
  readonly #waiting = new Map<number, (answer: CallTerms | null) => void>();
  #socket: Socket | undefined;
  #lastId = 0;

  constructor(settings: AgentSettings, onRelease: () => void) {
    this.#settings = settings;
    this.#onRelease = onRelease;
  }

  /** Resolves once the simulator knows this process, or once it is clear that there is no simulator. */
  async open(args: readonly string[]): Promise<void> {
    const socket = connect(this.#settings.port, "127.0.0.1");
    const connected = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    if (!connected) return;
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.unref();
    socket.on("error", () => {}); // `close` follows
    socket.on("close", () => this.#closed());
    readLines(socket, (line) => this.#receive(JSON.parse(line) as FromDesk)); // the desk writes nothing else
    await this.#ask({
      ask: "hello",
      token: this.#settings.token,
      pid: process.pid,
      arguments: args,
      environment: process.env as Record<string, string>, // every variable that is there has a value
      cwd: process.cwd(),
    });
  }

  /** The terms of this call. */
  async call(method: string): Promise<CallTerms> {
    const { options, turn } = this.#settings;
    return (await this.#ask({ ask: "call", method })) ?? { options, turn };
  }

  /** Resolves once it is counted. */
  async note(fact: AgentFact): Promise<void> {
    await this.#ask({ ask: "note", fact });
  }

  close(): void {
    this.#socket?.end();
  }

  #ask(question: DeskQuestion): Promise<CallTerms | null> {
    const socket = this.#socket;
    if (socket === undefined) return Promise.resolve(null);
    const id = ++this.#lastId;
    socket.ref();
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      socket.write(`${JSON.stringify({ id, ...question })}\n`);
    });
  }

  #receive(message: FromDesk): void {
    if ("push" in message) {
      this.#onRelease();
      return;
    }
    this.#waiting.get(message.id)?.(message.answer);
    this.#waiting.delete(message.id);
    if (this.#waiting.size === 0) this.#socket?.unref();
  }

  #closed(): void {
    this.#socket = undefined;
    for (const resolve of this.#waiting.values()) resolve(null);
    this.#waiting.clear();
  }
}

/** Hands over each line of a stream of UTF-8, without its end. */
export function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") onLine(line);
  });
}
