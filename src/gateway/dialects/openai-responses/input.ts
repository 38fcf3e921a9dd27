import { z } from "zod";
import type { TurnId } from "../../../base/ids.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { Message, Part, ToolCall } from "../../../log/request.ts";
import { wireId } from "../dialect.ts";
import { imageFromUrl, parseAt, refuse, textParts } from "../parse-body.ts";
import { joinName } from "./tools.ts";

const anyItem = z.looseObject({ type: z.string().nullish(), role: z.string().nullish() });

export const inputSchema = z.union([z.string(), z.array(anyItem)]).nullish();
type Item = z.infer<typeof anyItem>;

const anyPart = z.looseObject({ type: z.string() });
const content = z.union([z.string(), z.array(anyPart)]);
const messageItem = z.object({
  role: z.enum(["user", "assistant", "system", "developer"]),
  content: content.nullish(),
});
const functionCall = z.object({
  call_id: z.string().min(1),
  name: z.string().min(1),
  arguments: z.string().nullish(),
  namespace: z.string().nullish(),
});
const customCall = z.object({
  call_id: z.string().min(1),
  name: z.string().min(1),
  input: z.string(),
  namespace: z.string().nullish(),
});
const callOutput = z.object({ call_id: z.string().min(1), output: content.nullish() });
const reasoning = z.object({
  summary: z.array(z.looseObject({ text: z.string().nullish() })).nullish(),
  content: z.array(z.looseObject({ text: z.string().nullish() })).nullish(),
});

/** Items of a vendor's hosted tools: no other model could read them. */
const hostedItem =
  /^(web_search|file_search|code_interpreter|image_generation|computer|local_shell|shell|mcp|tool_search|apply_patch|program)/;

/**
 * Input items as messages: consecutive texts, thoughts and calls of the assistant become one message; every other item becomes one
 * message, in order.
 *
 * @throws MillraceError `invalid_request` with the path of an item that does not fit. Source: docs/wire/clients.md, "Responses".
 */
export function parseInput(input: z.infer<typeof inputSchema>): Message[] {
  if (typeof input === "string") return [{ role: "user", parts: textParts([input]) }];
  const messages: Message[] = [];
  const assistant = new AssistantMessage();
  for (const [i, item] of (input ?? []).entries()) {
    const path = `input[${i}]`;
    if (addToAssistant(assistant, item, path, messages)) continue;
    assistant.flush(messages);
    const message = parseItem(item, path);
    if (message !== undefined) messages.push(message);
  }
  assistant.flush(messages);
  return messages;
}

/** Text, thinking and calls of one assistant turn, as the items come. */
class AssistantMessage {
  #parts: Part[] = [];
  #thinking = "";
  #toolCalls: ToolCall[] = [];

  think(text: string, messages: Message[]): void {
    if (this.#parts.length > 0 || this.#toolCalls.length > 0) this.flush(messages);
    this.#thinking += text;
  }

  say(parts: readonly Part[], messages: Message[]): void {
    if (this.#parts.length > 0 || this.#toolCalls.length > 0) this.flush(messages);
    this.#parts.push(...parts);
  }

  call(call: ToolCall): void {
    this.#toolCalls.push(call);
  }

  flush(messages: Message[]): void {
    const [parts, thinking, toolCalls] = [this.#parts, this.#thinking, this.#toolCalls];
    if (parts.length > 0 || thinking !== "" || toolCalls.length > 0) {
      messages.push({ role: "assistant", parts, ...(thinking === "" ? {} : { thinking }), toolCalls });
    }
    this.#parts = [];
    this.#thinking = "";
    this.#toolCalls = [];
  }
}

/** Adds an item to the assistant's message; false if the item is not the assistant's. */
function addToAssistant(assistant: AssistantMessage, item: Item, path: string, messages: Message[]): boolean {
  switch (typeOf(item)) {
    case "message": {
      if (item.role !== "assistant") return false;
      const message = parseAt(messageItem, item, path);
      assistant.say(parseContent(message.content, `${path}.content`), messages);
      return true;
    }
    case "reasoning": {
      const { summary, content: raw } = parseAt(reasoning, item, path);
      const texts = (raw?.length ? raw : (summary ?? [])).map((part) => part.text ?? "");
      assistant.think(texts.filter((text) => text !== "").join("\n\n"), messages);
      return true;
    }
    case "function_call": {
      const call = parseAt(functionCall, item, path);
      const written = call.arguments?.trim() ? call.arguments : "{}";
      const name = joinName(call.namespace, call.name);
      assistant.call({ callId: call.call_id, name, arguments: written, kind: "function" });
      return true;
    }
    case "custom_tool_call": {
      const call = parseAt(customCall, item, path);
      const name = joinName(call.namespace, call.name);
      assistant.call({ callId: call.call_id, name, arguments: call.input, kind: "freeform" });
      return true;
    }
    default:
      return false;
  }
}

function parseItem(item: Item, path: string): Message | undefined {
  const type = typeOf(item);
  if (type === "message") {
    const { role, content: given } = parseAt(messageItem, item, path);
    return { role: role === "user" ? "user" : "system", parts: parseContent(given, `${path}.content`) };
  }
  if (type === "function_call_output" || type === "custom_tool_call_output") {
    const { call_id: callId, output } = parseAt(callOutput, item, path);
    return { role: "tool", callId, parts: parseContent(output, `${path}.output`), isError: false };
  }
  if (type === "item_reference") {
    if (typeof item["id"] === "string" && item["id"].startsWith("rs_")) return undefined; // reasoning is never replayed
    throw refuse(path, "Single items are not stored.", "Send the item itself, or `previous_response_id`.");
  }
  if (type === "compaction") return notesOf(item);
  if (hostedItem.test(type)) return undefined;
  throw refuse(`${path}.type`, `Items of type \`${type.slice(0, 60)}\` are not supported.`);
}

function typeOf(item: Item): string {
  return item.type ?? (item.role ? "message" : "");
}

function parseContent(given: z.infer<typeof content> | null | undefined, path: string): Part[] {
  if (given === null || given === undefined) return [];
  if (typeof given === "string") return textParts([given]);
  return given.flatMap((part, i) => parsePart(part, `${path}[${i}]`));
}

const textPart = z.object({ text: z.string() });
const refusalPart = z.object({ refusal: z.string() });
const imagePart = z.object({ image_url: z.union([z.string(), z.object({ url: z.string() })]).nullish() });

function parsePart(part: z.infer<typeof anyPart>, path: string): Part[] {
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
    case "summary_text":
    case "reasoning_text":
      return textParts([parseAt(textPart, part, path).text]);
    case "refusal":
      return textParts([parseAt(refusalPart, part, path).refusal]);
    case "input_image": {
      const { image_url: url } = parseAt(imagePart, part, path);
      if (!url) throw refuse(path, "Uploaded files are not kept here.", "Send the image as a data URL.");
      return [imageFromUrl(typeof url === "string" ? url : url.url, `${path}.image_url`)];
    }
    default:
      throw refuse(path, `Content of type \`${part.type.slice(0, 60)}\` is not supported; text and images are.`);
  }
}

const prefix = "millrace.1.";

/** Notes as the opaque text of a compaction item. It is packed, not encrypted: it goes back to the client whose conversation it is. */
export function packNotes(notes: string): string {
  return prefix + btoa(encodeURIComponent(notes));
}

/** The notes of a compaction item of ours as a message; undefined for another vendor's, which nobody here can read. */
export function notesOf({ encrypted_content: given }: JsonObject): Message | undefined {
  if (typeof given !== "string" || !given.startsWith(prefix)) return undefined;
  try {
    const text = decodeURIComponent(atob(given.slice(prefix.length)));
    return { role: "user", parts: [{ type: "text", text: `Notes of the conversation before this point:\n\n${text}` }] };
  } catch {
    return undefined;
  }
}

/** Messages of a request as the input items that they came from, each with its own id. */
export function inputItems(messages: readonly Message[], turnId: TurnId): readonly JsonObject[] {
  const items = messages.flatMap(itemsOf);
  return items.map((item, i) => ({ id: `${wireId("item_", turnId)}_${i}`, ...item }));
}

function itemsOf(message: Message): JsonObject[] {
  if (message.role === "tool") {
    return [
      { type: "function_call_output", status: "completed", call_id: message.callId, output: outputOf(message.parts) },
    ];
  }
  const kind = message.role === "assistant" ? "output_text" : "input_text";
  const content = message.parts.map((part) => partOf(part, kind));
  const said = content.length === 0 ? [] : [{ type: "message", status: "completed", role: message.role, content }];
  if (message.role !== "assistant") return said;
  const thought = message.thinking
    ? [{ type: "reasoning", summary: [{ type: "summary_text", text: message.thinking }] }]
    : [];
  const calls = message.toolCalls.map((call) =>
    call.kind === "freeform"
      ? { type: "custom_tool_call", status: "completed", call_id: call.callId, name: call.name, input: call.arguments }
      : {
          type: "function_call",
          status: "completed",
          call_id: call.callId,
          name: call.name,
          arguments: call.arguments,
        },
  );
  return [...thought, ...said, ...calls];
}

function partOf(part: Part, kind: "input_text" | "output_text"): JsonObject {
  if (part.type === "image") {
    return { type: "input_image", detail: "auto", image_url: `data:${part.mimeType};base64,${part.base64}` };
  }
  return kind === "output_text" ? { type: kind, text: part.text, annotations: [] } : { type: kind, text: part.text };
}

function outputOf(parts: readonly Part[]): unknown {
  const texts = parts.every((part) => part.type === "text");
  if (!texts) return parts.map((part) => partOf(part, "input_text"));
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
