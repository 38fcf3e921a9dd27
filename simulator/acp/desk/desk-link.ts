import { connect, type Socket } from "node:net";
import process from "node:process";
import { JsonRpc } from "../json-rpc.ts";
import type { AgentReport, AgentSettings, CallTerms, NoteList } from "./desk-protocol.ts";

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
    const { port, token } = this.#settings;
    const socket = connect(port, "127.0.0.1").setNoDelay(true).unref();
    const connected = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.on("error", () => resolve(false)); // `close` follows
    });
    if (!connected) return;
    this.#socket = socket;
    const released = async () => ({ result: this.#onRelease() });
    const gone = () => {
      this.#socket = undefined;
      this.#rpc.end(new Error("the simulator is gone"));
    };
    socket.on("close", gone);
    this.#rpc.serve(socket, released, gone);
    await this.#ask("hello", {
      token,
      pid: process.pid,
      arguments: args,
      environment: process.env,
      cwd: process.cwd(),
    });
  }

  /** The terms of this call. */
  async call(method: string): Promise<CallTerms> {
    const { options, turn } = this.#settings;
    return ((await this.#ask("call", { method })) as CallTerms | undefined) ?? { options, turn };
  }

  /** Adds an entry to a list of the report, and takes its cost from the plan. Resolves once it is counted. */
  async note<List extends NoteList>(list: List, entry: AgentReport[List][number], credits = 0): Promise<void> {
    await this.#ask("note", { list, entry, credits });
  }

  async browserOpened(): Promise<void> {
    await this.#ask("browserOpened", {});
  }

  /** The answer; undefined without a simulator. */
  async #ask(method: string, params: object): Promise<unknown> {
    const socket = this.#socket;
    if (socket === undefined) return undefined;
    this.#asked++;
    socket.ref();
    try {
      return await this.#rpc.begin(method, params).reply;
    } catch {
      return undefined; // it ended meanwhile
    } finally {
      if (--this.#asked === 0) socket.unref();
    }
  }
}
