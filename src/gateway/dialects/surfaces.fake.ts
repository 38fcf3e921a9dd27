import { isObject, type JsonObject } from "../../base/json.ts";
import { anthropicMessages } from "./anthropic-messages/encode.ts";
import type { Dialect, WireEvent } from "./dialect.ts";
import { gemini } from "./gemini/encode.ts";
import { ollama } from "./ollama/encode.ts";
import { openAiChat } from "./openai-chat/encode.ts";
import { openAiResponses } from "./openai-responses/encode.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire JSON of five APIs, looked into freely by these tests
export type Json = Record<string, any>;

/** The answer that a client ends up with, on any API. */
interface Got {
  text: string;
  thinking: string;
  calls: { id: string; name: string; arguments: string }[];
  stop: string | undefined;
  usage: unknown;
  failed: boolean;
}

export interface Surface {
  readonly dialect: Dialect;
  readonly wire: unknown;
  /** Breaches of the API's grammar in the stream. */
  problems(events: readonly WireEvent[]): string[];
  /** The answer that a client accumulates if it honours `millrace.rewritten`. */
  accumulated(events: readonly WireEvent[]): Got;
  whole(body: Json): Got;
}

const nothing = (): Got => ({ text: "", thinking: "", calls: [], stop: undefined, usage: undefined, failed: false });
export const parsed = (events: readonly WireEvent[]) =>
  events.filter((e) => e.data !== "[DONE]").map((e) => JSON.parse(e.data) as Json);

const chat: Surface = {
  dialect: openAiChat,
  wire: { includeUsage: true },
  problems(events) {
    const problems: string[] = [];
    const chunks = parsed(events);
    const failed = chunks.some((chunk) => chunk.error);
    if (chunks[0]?.choices[0].delta.role !== "assistant") problems.push("the role is not first");
    if (chunks.slice(1).some((chunk) => chunk.choices?.[0]?.delta.role)) problems.push("the role comes again");
    const heads = new Set(
      chunks.filter((c) => !c.error).map((c) => JSON.stringify([c.id, c.object, c.created, c.model])),
    );
    if (heads.size !== 1) problems.push("chunks differ in their head");
    const reasons = chunks.filter((chunk) => chunk.choices?.[0]?.finish_reason != null);
    if (reasons.length !== (failed ? 0 : 1)) problems.push(`${reasons.length} finish reasons`);
    if (reasons.some((chunk) => Object.keys(chunk.choices[0].delta as Json).length > 0))
      problems.push("content with the finish reason");
    if ((events.at(-1)?.data === "[DONE]") === failed) problems.push("[DONE] in the wrong place");
    if (failed && !chunks.at(-1)?.error) problems.push("something after the error");
    const seen: string[] = [];
    for (const chunk of chunks) {
      for (const call of chunk.choices?.[0]?.delta.tool_calls ?? []) {
        if (typeof call.index !== "number") problems.push("a call without index");
        if (call.index === seen.length) {
          if (typeof call.id !== "string" || !call.type) problems.push("a call begins without id or type");
          seen.push(String(call.id));
        } else if (call.id !== undefined || call.index !== seen.length - 1)
          problems.push("a call goes on out of order");
      }
    }
    return problems;
  },
  accumulated(events) {
    const got = nothing();
    for (const chunk of parsed(events)) {
      if (chunk.error) got.failed = true;
      if (chunk.usage) got.usage = chunk.usage;
      const choice = chunk.choices?.[0];
      if (!choice) continue;
      got.text += choice.delta.content ?? "";
      if (chunk.millrace) got.text = chunk.millrace.rewritten;
      got.thinking += choice.delta.reasoning_content ?? "";
      got.stop ??= choice.finish_reason ?? undefined;
      for (const call of choice.delta.tool_calls ?? []) {
        const own = call.function ?? call.custom;
        const at = (got.calls[call.index] ??= { id: call.id, name: own.name, arguments: "" });
        at.arguments += own.arguments ?? own.input ?? "";
      }
    }
    return got;
  },
  whole({ choices, usage }) {
    const { message, finish_reason: stop } = choices[0];
    const calls = (message.tool_calls ?? []).map((call: Json) => {
      const own = call.function ?? call.custom;
      return { id: call.id, name: own.name, arguments: own.arguments ?? own.input };
    });
    return { ...nothing(), text: message.content ?? "", thinking: message.reasoning_content ?? "", calls, stop, usage };
  },
};

const messages: Surface = {
  dialect: anthropicMessages,
  wire: { model: "test-model" },
  problems(events) {
    const problems: string[] = [];
    let [open, next]: [number | undefined, number] = [undefined, 0];
    const all = parsed(events);
    const order = all.map((e) => e.type as string);
    for (const [i, event] of all.entries()) {
      if (event.type !== events[i]?.name) problems.push("event and data.type differ");
      if (event.type === "content_block_start") {
        if (open !== undefined || event.index !== next++) problems.push(`block ${event.index} in ${String(open)}`);
        open = event.index;
      } else if (event.type === "content_block_delta" && event.index !== open)
        problems.push("a delta outside its block");
      else if (event.type === "content_block_stop") {
        if (event.index !== open) problems.push("a stop outside its block");
        open = undefined;
      }
    }
    if (order[0] !== "message_start" || order.lastIndexOf("message_start") !== 0) problems.push("no proper start");
    const failed = order.includes("error");
    const tail = failed ? ["error"] : ["message_delta", "message_stop"];
    if (order.slice(-tail.length).join() !== tail.join() || open !== undefined)
      problems.push(`ends with ${order.slice(-2).join()}`);
    if (order.filter((type) => tail.includes(type)).length !== tail.length) problems.push("more than one end");
    if (!(all[0]?.message?.usage.input_tokens > 0)) problems.push("no input tokens at the start");
    return problems;
  },
  accumulated(events) {
    const got = nothing();
    let call: Got["calls"][number] | undefined;
    for (const event of parsed(events)) {
      if (event.type === "error") got.failed = true;
      if (event.type === "message_start") got.usage = event.message.usage;
      if (event.type === "content_block_start") {
        const block = event.content_block;
        call = block.type === "tool_use" ? { id: block.id, name: block.name, arguments: "" } : undefined;
        if (call) got.calls.push(call);
      }
      if (event.type === "content_block_delta") {
        got.text += event.delta.text ?? "";
        if (event.millrace) got.text = event.millrace.rewritten;
        got.thinking += event.delta.thinking ?? "";
        if (call) call.arguments += event.delta.partial_json ?? "";
      }
      if (event.type === "message_delta") {
        got.stop = event.delta.stop_reason;
        got.usage = { ...(got.usage as object), ...event.usage }; // as the SDK does
      }
    }
    for (const made of got.calls) made.arguments = asInput(made.arguments);
    return got;
  },
  whole(message) {
    const got = nothing();
    for (const block of message.content) {
      if (block.type === "text") got.text += block.text;
      else if (block.type === "thinking") got.thinking += block.thinking;
      else got.calls.push({ id: block.id, name: block.name, arguments: JSON.stringify(block.input) });
    }
    return { ...got, stop: message.stop_reason, usage: message.usage };
  },
};

/** An input as this API's JSON objects can carry it. */
function asInput(text: string): string {
  try {
    const input: unknown = JSON.parse(text);
    if (isObject(input)) return JSON.stringify(input);
  } catch {
    // not JSON: as below
  }
  return JSON.stringify({ unparsed: text });
}

export const responsesWire = {
  store: true,
  background: false,
  previousResponseId: null,
  ownFrom: 0,
  namespaced: {},
  echo: {},
};

export const responses: Surface = {
  dialect: openAiResponses,
  wire: responsesWire,
  problems(events) {
    const problems: string[] = [];
    const all = parsed(events);
    const open = new Map<number, string>();
    const done = new Set<number>();
    for (const [i, event] of all.entries()) {
      if (event.sequence_number !== i) problems.push(`event ${i} is numbered ${event.sequence_number}`);
      if (event.type !== events[i]?.name) problems.push("event and data.type differ");
      const index = event.output_index as number;
      if (event.type === "response.output_item.added") {
        if (open.has(index) || done.has(index) || index !== open.size + done.size)
          problems.push(`index ${index} again`);
        open.set(index, event.item.id);
        if (event.item.call_id === event.item.id) problems.push("id equals call_id");
      } else if (event.type === "response.output_item.done") {
        if (open.get(index) !== event.item.id) problems.push("done without added");
        open.delete(index);
        done.add(index);
      } else if (event.item_id !== undefined && open.get(index) !== event.item_id)
        problems.push(`${event.type} outside its item`);
    }
    if (all[0]?.type !== "response.created" || all[1]?.type !== "response.in_progress")
      problems.push("no proper start");
    const terminal = all.filter((event) => /^response\.(completed|failed|incomplete)$/.test(event.type));
    if (terminal.length !== 1 || terminal[0] !== all.at(-1)) problems.push("no single terminal event, last");
    if (open.size > 0) problems.push("an item was never done");
    const isFailed = terminal[0]?.type === "response.failed";
    if ((events.at(-1)?.data === "[DONE]") === isFailed) problems.push("[DONE] in the wrong place");
    return problems;
  },
  accumulated(events) {
    const all = parsed(events);
    let response: Json | undefined;
    let text = "";
    for (const event of all) {
      if (!/^response\.(completed|failed|incomplete)$/.test(event.type)) response = accumulate(response, event);
      if (event.type === "response.output_text.delta") text += event.delta;
      if (event.millrace) text = event.millrace.rewritten;
    }
    const last = all.at(-1)?.response;
    return {
      ...this.whole({ ...last, output: response?.output }),
      text,
      stop: last.status,
      failed: last.status === "failed" || last.status === "cancelled",
    };
  },
  whole(response) {
    const got = nothing();
    for (const item of response.output) {
      if (item.type === "message") got.text += item.content.map((part: Json) => part.text).join("");
      else if (item.type === "reasoning") got.thinking += item.summary.map((part: Json) => part.text).join("");
      else got.calls.push({ id: item.call_id, name: item.name, arguments: item.arguments ?? item.input });
    }
    return { ...got, stop: response.status, usage: response.usage };
  },
};

const lines: Surface = {
  dialect: ollama,
  wire: { form: "chat" },
  problems(events) {
    const all = parsed(events);
    const failed = all.some((line) => line.error);
    const dones = all.filter((line) => line.done);
    const problems = dones.length === (failed ? 0 : 1) ? [] : [`${dones.length} lines are done`];
    if (!(failed ? all.at(-1)?.error : all.at(-1)?.done)) problems.push("no proper end");
    if (all.some((line) => !line.error && (!line.message || !line.created_at)))
      problems.push("a line without its head");
    return problems;
  },
  accumulated(events) {
    const got = nothing();
    for (const line of parsed(events)) {
      if (line.error) got.failed = true;
      const { content = "", thinking = "", tool_calls: calls = [] } = line.message ?? {};
      got.text += content;
      got.thinking += thinking;
      if (line.millrace?.rewritten !== undefined) got.text = line.millrace.rewritten;
      for (const call of calls) got.calls.push(callOf(call));
      if (line.done) Object.assign(got, endOf(line));
    }
    return got;
  },
  whole: (body) => ({
    ...nothing(),
    text: body.message.content,
    thinking: body.message.thinking ?? "",
    calls: (body.message.tool_calls ?? []).map(callOf),
    ...endOf(body),
  }),
};

const callOf = ({ id, function: { name, arguments: input } }: Json) => ({ id, name, arguments: JSON.stringify(input) });
const endOf = ({ done_reason: stop, prompt_eval_count: input, eval_count: output }: Json) => ({
  stop,
  usage: { input, output },
});

const chunks: Surface = {
  dialect: gemini,
  wire: { includeThoughts: true },
  problems(events) {
    const all = parsed(events);
    const failed = all.some((chunk) => chunk.error);
    const ends = all.filter((chunk) => chunk.candidates?.[0].finishReason);
    const problems = ends.length === (failed ? 0 : 1) ? [] : [`${ends.length} chunks are the last`];
    if (!(failed ? all.at(-1)?.error : all.at(-1)?.candidates[0].finishReason)) problems.push("no proper end");
    if (all.some((chunk) => !chunk.error && chunk.candidates[0].content.parts.length === 0))
      problems.push("a chunk without parts");
    if (new Set(all.filter((chunk) => !chunk.error).map(({ responseId: id }) => String(id))).size > 1)
      problems.push("chunks differ in their head");
    return problems;
  },
  accumulated(events) {
    const got = nothing();
    for (const chunk of parsed(events)) {
      if (chunk.error) got.failed = true;
      else addParts(got, chunk);
      if (chunk.millrace?.rewritten !== undefined) got.text = chunk.millrace.rewritten;
    }
    return got;
  },
  whole(body) {
    const got = nothing();
    addParts(got, body);
    return got;
  },
};

function addParts(got: Got, { candidates, usageMetadata: usage }: Json): void {
  const [{ content, finishReason: stop }] = candidates;
  for (const { text = "", thought, functionCall: call } of content.parts as Json[]) {
    if (call) got.calls.push({ id: call.id, name: call.name, arguments: JSON.stringify(call.args) });
    else if (thought) got.thinking += text;
    else got.text += text;
  }
  if (stop) Object.assign(got, { stop, usage });
}

export const surfaces = [chat, messages, responses, lines, chunks].map(
  (surface) => [surface.dialect.name, surface] as const,
);

/** The response that a client holds after these events. */
export function fold(events: readonly Json[]): Json | undefined {
  let response: Json | undefined;
  for (const event of events) response = accumulate(response, event);
  return response;
}

/** The response that a client holds after one more event, by the API's own rules. */
function accumulate(response: JsonObject | undefined, event: JsonObject): JsonObject {
  if (typeof event.response === "object" && event.response !== null) return event.response as JsonObject; // lifecycle events hold it whole
  if (event.type === "error") return { ...response }; // `response.failed` follows
  const output = [...((response?.output ?? []) as JsonObject[])]; // a list of items, as responseObject makes it
  const index = Number(event.output_index);
  output[index] = accumulateItem(output[index] ?? {}, event);
  return { ...response, status: "in_progress", output };
}

function accumulateItem(item: JsonObject, event: JsonObject): JsonObject {
  const delta = String(event.delta);
  switch (event.type) {
    case "response.output_item.added":
    case "response.output_item.done":
      return event.item as JsonObject; // the member that these two events have
    case "response.content_part.added":
    case "response.content_part.done":
      return { ...item, content: [event.part] };
    case "response.output_text.delta":
      return { ...item, content: [grown(item.content, delta)] };
    case "response.reasoning_summary_part.added":
    case "response.reasoning_summary_part.done":
      return { ...item, summary: [event.part] };
    case "response.reasoning_summary_text.delta":
      return { ...item, summary: [grown(item.summary, delta)] };
    case "response.function_call_arguments.delta":
      return { ...item, arguments: String(item.arguments) + delta };
    case "response.custom_tool_call_input.delta":
      return { ...item, input: String(item.input) + delta };
    default:
      return item; // the `done` of a text repeats what the deltas said
  }
}

function grown(parts: unknown, delta: string): JsonObject {
  const [part] = parts as { text: string }[]; // the part was added, with its text, before it grows
  return { ...part, text: (part?.text ?? "") + delta };
}
