import { parseJson, writeJson } from "../../src/base/json.ts";
/** An error that the other side reads. */
export class JsonRpcError extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const methodNotFound = -32601;
export const invalidParams = -32602;
export const internalError = -32603;

interface Message {
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** Answers a request, or takes a notification in. `afterReply` runs once the reply is written. */
export interface RequestHandler {
  readonly result: unknown;
  readonly afterReply?: () => void;
}

type Handle = (method: string, params: unknown) => Promise<RequestHandler>;

/**
 * JSON-RPC 2.0, one message a line, in both directions. Handlers start in the order of their messages and may overlap.
 *
 * It is our own and not the official SDK's: the stand-in must also misbehave (no answer, an answer after a crash, lines
 * that are no JSON), and the program has to start fast.
 */
export class JsonRpc {
  readonly #write: (line: string) => void;
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  #lastId = 0;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /** Handles every line of the stream; `onEnd` when the other side closes it. */
  serve(input: NodeJS.ReadableStream, handle: Handle, onEnd: () => void): void {
    readLines(input, (line) => this.receive(line, handle));
    input.on("end", onEnd);
  }

  /** Handles one line. */
  receive(line: string, handle: Handle): void {
    const message = parsed(line);
    if (message === undefined) {
      this.#send({ id: null, error: { code: -32700, message: "Parse error" } });
    } else if (message.method !== undefined) {
      void this.#answer(message.id, handle(message.method, message.params));
    } else if (typeof message.id === "number") {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error === undefined) waiting?.resolve(message.result);
      else waiting?.reject(new JsonRpcError(message.error.code, message.error.message));
    }
  }

  notify(method: string, params: unknown): void {
    this.#send({ method, params });
  }

  /** Asks the other side, whose error rejects the reply; the id is the one by which the request can be cancelled. */
  begin(method: string, params: unknown): { readonly id: number; readonly reply: Promise<unknown> } {
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject });
    this.#send({ id, method, params });
    return { id, reply: promise };
  }

  /** Fails every request that waits: the other side is gone. */
  end(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  async #answer(id: Message["id"], handling: Promise<RequestHandler>): Promise<void> {
    try {
      const { result, afterReply } = await handling;
      if (id !== undefined) this.#send({ id, result });
      afterReply?.();
    } catch (error) {
      if (id === undefined) return; // a notification has no answer
      const { code, message, data } =
        error instanceof JsonRpcError ? error : { code: internalError, message: String(error), data: undefined };
      this.#send({ id, error: { code, message, ...(data === undefined ? {} : { data }) } });
    }
  }

  #send(message: object): void {
    this.#write(`${writeJson({ jsonrpc: "2.0", ...message })}\n`);
  }
}

function parsed(line: string): Message | undefined {
  try {
    return parseJson(line) as Message; // read field by field, each checked where it is used
  } catch {
    return undefined;
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
