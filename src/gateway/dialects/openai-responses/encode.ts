import type { ErrorRecord } from "../../../base/errors.ts";
import { type JsonObject, writeJson } from "../../../base/json.ts";
import { epochOf, type TurnEvent } from "../../../log/event.ts";
import { type Answer, type AnswerEnd, AnswerFold, type AnswerStep, type Block } from "../answer.ts";
import { type Dialect, type EncodeContext, type Encoder, toldPlace, type WireEvent } from "../dialect.ts";
import { failureOf } from "../errors.ts";
import { encodeOpenAiError } from "../openai-errors.ts";
import { parseResponsesRequest, type ResponsesWire } from "./request.ts";
import { compactionItems, itemId, itemOf, responseObject, summaryPart, textPart } from "./response-object.ts";

/** The events of what the model says and thinks: of the text, of the part that holds it, and the part's place in the item. */
const spoken = {
  text: {
    text: "response.output_text",
    part: "response.content_part",
    index: { content_index: 0 },
    more: { logprobs: [] },
    partOf: textPart,
  },
  thinking: {
    text: "response.reasoning_summary_text",
    part: "response.reasoning_summary_part",
    index: { summary_index: 0 },
    more: {},
    partOf: summaryPart,
  },
} as const;

/**
 * Response events: the full ladder of every item, and always a terminal one: `completed` or `incomplete`, then `[DONE]`; or `failed`.
 * An event `error` comes before `failed`, as at the vendor: clients that ignore `failed` would take half an answer for a whole one.
 * `sequence_number` counts from 0, from a million for each later claim of the turn, and is the same for every reader. An event that no log holds (a heartbeat, the failure of a log that
 * cannot be read) repeats the last number. Thinking is a reasoning item with a summary. Source: docs/dev/wire/clients.md, "Responses".
 *
 * After a rewrite, the delta's event carries `millrace: { rewritten: <whole text> }` as in Chat Completions, and the final response
 * holds the correct text.
 */
class ResponsesEncoder implements Encoder {
  readonly #context: EncodeContext;
  readonly #fold: AnswerFold;
  /** The sent part of the open item; after a rewrite it differs from the item's true content. */
  #sent = "";
  #sequence = 0;

  constructor(context: EncodeContext) {
    this.#context = context;
    this.#fold = new AnswerFold(context.parsed.request);
  }

  open(): readonly WireEvent[] {
    const response = { ...responseObject(this.#context, this.#fold.answer), status: "in_progress" };
    return [this.#write("response.created", { response }), this.#write("response.in_progress", { response })];
  }

  encode(event: TurnEvent): readonly WireEvent[] {
    const { compacts } = this.#context.parsed.wire as ResponsesWire; // set by this dialect's own parser
    this.#sequence = Math.max(this.#sequence, (epochOf(event.eventId) - 1) * 1_000_000); // a lost event keeps its number
    const steps = this.#fold.push(event);
    if (compacts !== true) return steps.flatMap((step) => this.#step(step));
    return steps.flatMap((step) => (step.type === "end" ? [...this.#compacted(), ...this.#step(step)] : []));
  }

  /** The response so far, with its items: a client that accumulates replaces everything that it holds by this response. */
  heartbeat(waiting?: string): readonly WireEvent[] {
    const response = { ...responseObject(this.#context, this.#fold.answer), status: "in_progress" };
    return [this.#repeat("response.in_progress", { response, ...toldPlace(waiting) })];
  }

  broken(error: ErrorRecord): readonly WireEvent[] {
    const { blocks, usage } = this.#fold.answer;
    const response = responseObject(this.#context, { blocks, usage, end: { type: "failed", error } });
    return [this.#repeat("error", this.#told(error)), this.#repeat("response.failed", { response })];
  }

  #step(step: AnswerStep): readonly WireEvent[] {
    switch (step.type) {
      case "open":
        this.#sent = "";
        return this.#open(step.block);
      case "delta":
        this.#sent += step.delta;
        return [this.#delta(step.block, step.delta, {})];
      case "rewritten":
        this.#sent += step.delta;
        return [this.#delta(step.block, step.delta, { millrace: { rewritten: step.text } })];
      case "close":
        return this.#close(step.block);
      case "end":
        return this.#end(step.end, this.#fold.answer);
      default:
        return step satisfies never;
    }
  }

  /** The one item of a compaction: its notes are of no use before they are whole. */
  #compacted(): readonly WireEvent[] {
    const items = compactionItems(this.#context, this.#fold.answer);
    return items.flatMap((item) =>
      ["added", "done"].map((what) => this.#write(`response.output_item.${what}`, { output_index: 0, item })),
    );
  }

  #open(block: Block): readonly WireEvent[] {
    const empty = this.#item(block, "", "in_progress");
    const added = this.#write("response.output_item.added", { output_index: block.index, item: bare(empty) });
    if (block.kind === "tool_call") return [added];
    const { part, index, partOf } = spoken[block.kind];
    return [added, this.#write(`${part}.added`, { ...this.#place(block), ...index, part: partOf("") })];
  }

  #delta(block: Block, delta: string, extension: JsonObject): WireEvent {
    const at = this.#place(block);
    if (block.kind !== "tool_call") {
      const { text, index, more } = spoken[block.kind];
      return this.#write(`${text}.delta`, { ...at, ...index, delta, ...more, ...extension });
    }
    const type = block.freeform ? "custom_tool_call_input" : "function_call_arguments";
    return this.#write(`response.${type}.delta`, { ...at, delta });
  }

  #close(block: Block): readonly WireEvent[] {
    const text = this.#sent;
    const at = this.#place(block);
    const item = this.#item(block, text, "completed");
    const done = () => this.#write("response.output_item.done", { output_index: block.index, item });
    if (block.kind !== "tool_call") {
      const { text: said, part, index, more, partOf } = spoken[block.kind];
      return [
        this.#write(`${said}.done`, { ...at, ...index, text, ...more }),
        this.#write(`${part}.done`, { ...at, ...index, part: partOf(text) }),
        done(),
      ];
    }
    const whole = block.freeform
      ? this.#write("response.custom_tool_call_input.done", { ...at, input: text })
      : this.#write("response.function_call_arguments.done", { ...at, name: item["name"], arguments: text });
    return [whole, done()];
  }

  /** A cancelled response ends in `failed`, with its own status, so that no client mistakes a partial answer for a whole one. */
  #end(end: AnswerEnd, answer: Answer): readonly WireEvent[] {
    const response = responseObject(this.#context, answer);
    if (end.type === "finished") {
      const type = response.status === "incomplete" ? "incomplete" : "completed";
      return [this.#write(`response.${type}`, { response }), { data: "[DONE]" }];
    }
    const error = failureOf(end);
    return [this.#write("error", this.#told(error)), this.#write("response.failed", { response })];
  }

  /** An error in the form that the vendor documents, and in the form that it sends. */
  #told(record: ErrorRecord): JsonObject {
    const error = encodeOpenAiError(record, this.#context.requestId).body.error;
    const { code, message, param } = error;
    return { code, message, param, error };
  }

  /** An item with the text of it that was sent. */
  #item(block: Block, text: string, status: "in_progress" | "completed"): JsonObject {
    const sent = block.kind === "tool_call" ? { ...block, arguments: text } : { ...block, text };
    return itemOf(this.#context, sent, status);
  }

  #place(block: Block): JsonObject {
    return { item_id: itemId(this.#context, block), output_index: block.index };
  }

  #write(type: string, members: JsonObject): WireEvent {
    const number = this.#sequence++;
    let data: string | undefined; // four events at the end hold the whole text: each is written when it is sent
    return {
      name: type,
      number,
      get data() {
        return (data ??= writeJson({ type, sequence_number: number, ...members }));
      },
    };
  }

  /** An event that is not in the log. It has no new number: a client that resumes after a new number would miss a stored event. */
  #repeat(type: string, members: JsonObject): WireEvent {
    return {
      name: type,
      data: writeJson({ type, sequence_number: Math.max(0, this.#sequence - 1), ...members }),
    };
  }
}

/** An item without its content, which later events bring. */
function bare(item: JsonObject): JsonObject {
  return item.type === "message" ? { ...item, content: [] } : item;
}

/** OpenAI Responses: `POST /v1/responses`. The route looks up the response that a request continues. */
export const openAiResponses: Dialect = {
  name: "openai-responses",
  parse: (body) => parseResponsesRequest(body, []),
  encoder: (context) => new ResponsesEncoder(context),
  encodeAnswer: responseObject,
  encodeError: encodeOpenAiError,
};
