import { orAborted } from "../../../base/async.ts";
import { isObject, type JsonObject, writeJson } from "../../../base/json.ts";
import type { AgentChild } from "./agent-child.ts";
import { isReply, JsonLines } from "./lines.ts";

/** How a request ended that the agent answered with an error. Stays inside this folder: `errors.ts` translates it. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The agent's process ended; the message says how. Stays inside this folder too. */
export class ProcessLoss extends Error {
  override readonly name = "ProcessLoss";
}

export type Reply = { readonly result: unknown } | { readonly error: Error };

/** Handlers for the agent's requests and notifications. */
export interface PeerHandlers {
  /** The result of a request; undefined where Millrace does not know the method. */
  onRequest(method: string, params: JsonObject): object | undefined;
  onNotification(method: string, params: JsonObject): void;
}

const methodNotFound = -32601;

/** The client's side of JSON-RPC 2.0 over one pipe. Everything is handled in the order in which it was read. */
export class RpcPeer {
  readonly #write: (line: string) => void;
  readonly #handlers: PeerHandlers;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #nextId: number;
  #closed: Error | undefined;

  constructor(write: (line: string) => void, handlers: PeerHandlers, firstId = 1) {
    this.#write = write;
    this.#handlers = handlers;
    this.#nextId = firstId;
  }

  /** The id of the next request. */
  get nextId(): number {
    return this.#nextId;
  }

  receive(message: JsonObject): void {
    const { id, method, params, result, error } = message;
    if (typeof method === "string") {
      const given = isObject(params) ? params : {};
      if (id === undefined) this.#handlers.onNotification(method, given);
      else this.#answer(id, method, given);
      return;
    }
    const replied = typeof id === "string" ? Number(id) : id; // some agents answer with the digits as text
    if (typeof replied !== "number" || !isReply(message)) return;
    const reply = this.#waiting.get(replied);
    this.#waiting.delete(replied);
    const failed = typeof error === "string" ? { message: error } : error;
    reply?.(isObject(failed) ? { error: rpcError(failed) } : { result });
  }

  /** Sends a request. `onReply` is called once, in order with the notifications around the reply, also when the pipe closes. */
  ask(method: string, params: object, onReply: (reply: Reply) => void): void {
    const id = this.#nextId++;
    this.expect(id, onReply);
    if (this.#closed === undefined) this.#send({ id, method, params });
  }

  /** Waits for the reply to a request that another peer has sent: `onReply` as for `ask`. */
  expect(id: number, onReply: (reply: Reply) => void): void {
    if (this.#closed === undefined) this.#waiting.set(id, onReply);
    else onReply({ error: this.#closed });
  }

  /** The result of a request. Throws `RpcError`, the reason of `close`, or the signal's. */
  async request(method: string, params: object, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    return await orAborted(this.call(method, params), signal);
  }

  /** The same, however long it takes. */
  call(method: string, params: object): Promise<unknown> {
    const replied = new Promise<unknown>((resolve, reject) => {
      this.ask(method, params, (reply) => ("error" in reply ? reject(reply.error) : resolve(reply.result)));
    });
    replied.catch(() => {}); // an abort may leave it behind
    return replied;
  }

  notify(method: string, params: object): void {
    if (this.#closed === undefined) this.#send({ method, params });
  }

  /** The pipe is gone: everything that waits fails with this error. */
  close(error: Error): void {
    if (this.#closed !== undefined) return;
    this.#closed = error;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const reply of waiting) reply({ error });
  }

  #answer(id: unknown, method: string, params: JsonObject): void {
    const result = this.#handlers.onRequest(method, params);
    if (result !== undefined) this.#send({ id, result });
    else this.#send({ id, error: { code: methodNotFound, message: `Method not found: ${method}` } });
  }

  #send(message: object): void {
    this.#write(`${writeJson({ jsonrpc: "2.0", ...message })}\n`);
  }
}

function rpcError({ code, message, data }: JsonObject): RpcError {
  return new RpcError(typeof code === "number" ? code : 0, typeof message === "string" ? message : "", data);
}

/** A peer that speaks over a child's pipes. It closes with the process, and a process whose output cannot be read is ended. */
export class PipePeer extends RpcPeer {
  readonly #lines = new JsonLines();

  constructor(child: AgentChild, handlers: PeerHandlers) {
    super((line) => child.write(line), handlers, child.host?.firstId);
    child.onText((text) => {
      try {
        for (const message of this.#lines.feed(text)) this.receive(message);
      } catch {
        this.close(new ProcessLoss("its output could not be read"));
        void child.end(0);
      }
    });
    void child.exited.then((how) => this.close(new ProcessLoss(how)));
  }

  /** Whether the child has written a part of a line. */
  get isMidLine(): boolean {
    return this.#lines.isMidLine;
  }
}
