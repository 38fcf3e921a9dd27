import { createParser } from "eventsource-parser";
import type { MillraceError } from "../../base/errors.ts";
import { sortableId } from "../../base/ids.ts";
import { isObject, type JsonObject, objectOf, parseJson, writeJson } from "../../base/json.ts";
import { encodeOpenAiError } from "../dialects/openai-errors.ts";
import { responsePrefix } from "../dialects/openai-responses/response-object.ts";
import { type BodyMemory, memoryOf } from "./body.ts";
import { type JsonCost, JsonScan, refuseCostly } from "./json-scan.ts";
import { Refusal, tooLarge } from "./refusal.ts";

/** Answers a request, whose body may have been read before. */
export type App = (request: Request, json?: unknown) => Promise<Response>;

/** The last response of a connection, with all that led to it. */
interface KeptResponse {
  readonly id: unknown;
  readonly items: readonly unknown[];
  readonly cost: JsonCost;
}

/** What a connection keeps: the last response, which a client may continue also if it was not stored. */
export class Conversation {
  readonly #app: App;
  readonly #headers: Headers;
  readonly #memory: BodyMemory;
  readonly #mostBytes: number;
  #last: KeptResponse | undefined;

  /** `memory`: for what is kept. `mostBytes`: of one request, with what it continues. */
  constructor(app: App, headers: Headers, memory: BodyMemory, mostBytes: number) {
    this.#app = app;
    this.#headers = headers;
    this.#memory = memory;
    this.#mostBytes = mostBytes;
  }

  /** The messages that answer a message. An error is a message too. */
  async *answer(asked: unknown, cost: JsonCost, signal: AbortSignal): AsyncGenerator<string, void> {
    if (!isObject(asked) || asked.type !== "response.create") {
      const message = "Send a JSON object of type `response.create`.";
      yield errorEvent(400, { code: "invalid_request", param: "type", message });
      return;
    }
    const { type: _, stream_id: lane, generate, ...body } = asked;
    const tag = lane === undefined ? {} : { stream_id: lane };
    const { previous_response_id: previous, ...rest } = body;
    const continued = this.#last !== undefined && previous === this.#last.id ? this.#last : undefined;
    const items = [...(continued?.items ?? []), ...itemsOf(body.input)];
    const whole = summed(cost, continued?.cost);
    if (continued !== undefined) this.#refuseLarge(whole);
    if (generate === false) {
      const response = emptyResponse(body);
      this.#keep({ id: response.id, items, cost: whole });
      yield writeJson({ type: "response.created", sequence_number: 0, response, ...tag });
      yield writeJson({ type: "response.completed", sequence_number: 1, response, ...tag });
      return;
    }
    let isOver = false;
    const request = continued === undefined ? body : { ...rest, input: items };
    for await (const { event, data } of this.#ask(request, signal)) {
      if (data === "[DONE]" || event === "error") continue; // `response.failed` follows, and here each of the two would end the answer
      const ended = event === "response.completed" || event === "response.incomplete";
      const message = ended || lane !== undefined ? objectOf(parseJson(data)) : undefined;
      const response = ended && isObject(message?.response) ? message.response : undefined;
      isOver ||= response !== undefined;
      if (response !== undefined) {
        const output = itemsOf(response.output);
        this.#keep({ id: response.id, items: [...items, ...output], cost: summed(whole, costOf(data)) });
      }
      yield lane === undefined ? data : writeJson({ ...message, ...tag });
      if (event === "response.failed") break; // the stream is cut after it
    }
    if (continued !== undefined && !isOver) this.#keep(undefined); // as the specification has it: its client sends the whole input again
  }

  /** Lets go of all that it keeps. */
  forget(): void {
    this.#keep(undefined);
  }

  /** Where other connections take all memory, the response is forgotten: its client sends the whole input again. */
  #keep(response: KeptResponse | undefined): void {
    this.#last = undefined;
    this.#memory.hold(0);
    if (response === undefined) return;
    try {
      this.#memory.hold(memoryOf(response.cost));
      this.#last = response;
    } catch {
      // forgotten
    }
  }

  #refuseLarge(cost: JsonCost): void {
    refuseCostly(cost);
    if (cost.bytes > this.#mostBytes) throw tooLarge(this.#mostBytes);
  }

  /** The events of a response, or one error. */
  async *#ask(
    body: JsonObject,
    signal: AbortSignal,
  ): AsyncGenerator<{ readonly event?: string | undefined; readonly data: string }, void> {
    const request = new Request("http://gateway/v1/responses", { method: "POST", headers: this.#headers, signal });
    const response = await this.#app(request, { ...body, stream: true });
    if (response.body === null || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
      yield { data: errorEvent(response.status, objectOf(parseJson(await response.text())).error) };
      return;
    }
    const events: { event?: string | undefined; data: string }[] = [];
    const parser = createParser({ onEvent: (event) => void events.push(event) });
    const decoder = new TextDecoder();
    for await (const bytes of response.body) {
      parser.feed(decoder.decode(bytes, { stream: true }));
      yield* events.splice(0);
    }
  }
}

/** The message for a request that is refused before a route answers it. */
export function refusalEvent(error: MillraceError): string {
  const { status, body } = encodeOpenAiError(error.toRecord(), "");
  return errorEvent(error instanceof Refusal ? error.status : status, isObject(body) ? body.error : undefined);
}

function summed(a: JsonCost, b: JsonCost = { bytes: 0, values: 0, text: 0 }): JsonCost {
  return { bytes: a.bytes + b.bytes, values: a.values + b.values, text: a.text + b.text };
}

/** The cost of an answer's last event. One that no request may have costs more than any: the next request is refused. */
function costOf(data: string): JsonCost {
  const scan = new JsonScan();
  try {
    scan.push(Buffer.from(data));
  } catch {
    // its cost is counted
  }
  return scan.cost;
}

function itemsOf(input: unknown): readonly unknown[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return Array.isArray(input) ? input : [];
}

/** An error as the API's WebSockets have it. A client that reads this code sends its whole input. */
function errorEvent(status: number, error: unknown): string {
  const given = isObject(error) ? error : { message: "The request failed.", param: null, code: null };
  const lost = status === 404 && given.param === "previous_response_id";
  return writeJson({
    type: "error",
    status,
    error: { ...given, ...(lost ? { code: "previous_response_not_found" } : {}) },
  });
}

/** The answer to a request that only prepares the next one (`generate: false`): no model is asked. */
export function emptyResponse({ model }: JsonObject): JsonObject {
  const created = Date.now();
  const details = { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
  return {
    id: responsePrefix + sortableId(created),
    object: "response",
    created_at: Math.floor(created / 1000),
    status: "completed",
    model,
    output: [],
    error: null,
    incomplete_details: null,
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0, ...details },
  };
}
