import { connect, type Socket } from "node:net";
import process from "node:process";
import { JsonRpc } from "../json-rpc.ts";
import type { AgentFact, AgentSettings, CallTerms, DeskQuestions } from "./desk-protocol.ts";

/**
 * A `devin` process's connection to the simulator, which counts its calls. If no simulator runs any more, the process uses the
 * settings file of its launcher, and nothing is counted.
 */
export class DeskLink {
  readonly #settings: AgentSettings;
  readonly #onRelease: () => void;
  readonly #rpc = new JsonRpc((line) => this.#socket?.write(line));
  #socket: Socket | undefined;
  /** Questions without an answer: as long as there are any, the connection keeps the process alive. */
  #asked = 0;

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
    const released = async () => {
      this.#onRelease();
      return { result: null };
    };
    const gone = () => {
      this.#socket = undefined;
      this.#rpc.end(new Error("the simulator is gone"));
    };
    socket.on("close", gone);
    this.#rpc.serve(socket, released, gone);
    await this.#ask("hello", {
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
    return ((await this.#ask("call", { method })) as CallTerms | undefined) ?? { options, turn };
  }

  /** Resolves once it is counted. */
  async note(fact: AgentFact): Promise<void> {
    await this.#ask("note", fact);
  }

  /** The answer; undefined without a simulator. */
  async #ask<Method extends keyof DeskQuestions>(method: Method, params: DeskQuestions[Method]): Promise<unknown> {
    const socket = this.#socket;
    if (socket === undefined) return undefined;
    this.#asked++;
    socket.ref();
    try {
      return await this.#rpc.request(method, params);
    } catch {
      return undefined; // it ended meanwhile
    } finally {
      if (--this.#asked === 0) socket.unref();
    }
  }
}
