import { z } from "zod";
import type { TurnId } from "../../../base/ids.ts";
import { isObject, type JsonObject, writeJson } from "../../../base/json.ts";
import type { Message, Part } from "../../../log/request.ts";
import { readCall, readResult } from "../calls.ts";
import { parseContent, parsePart } from "../content.ts";
import { wireId } from "../dialect.ts";
import type { History, Speaker } from "../history.ts";
import { bringsCalls, readMessage, speakerOf } from "../messages/any-message.ts";
import { textParts } from "../parse-body.ts";
import { joinName } from "../tool-choice.ts";

export const inputSchema = z.union([z.string(), z.array(z.unknown())]).nullish();

const speakers = { user: "user", assistant: "assistant", system: "other", developer: "other" } as const;
/**
 * Input items as messages: consecutive texts, thoughts and calls of the assistant become one message; every other item becomes one
 * message, in order. Items of other types (of hosted tools, of a client's own bookkeeping) are left out.
 * Source: docs/dev/wire/clients.md, "Responses".
 */
export function parseInput(input: z.infer<typeof inputSchema>, history: History): Message[] {
  if (typeof input === "string") return [{ role: "user", parts: textParts([input]) }];
  const items = withPairs(
    (input ?? []).map((item) => (typeof item === "string" ? { role: "user", content: item } : item)),
  );
  const reader = history.reader(items.map(speakerOfItem));
  const messages = items.flatMap((item, i): Message[] => {
    const path = `input[${i}]`;
    reader.at(i);
    if (!isObject(item)) {
      history.leaveOut("item");
      return [];
    }
    const { role } = item;
    if (typeof role === "string" && typeOf(item) === "message" && bringsCalls(item))
      return readMessage({ ...item, role }, path, history);
    return parseItem(item, path, history);
  });
  return joinAnswers(messages);
}

/** Thinking, text and calls of one answer come as items: a call belongs to what is before it, and anything to the thinking before it. */
function joinAnswers(messages: readonly Message[]): Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    const isThought = last?.role === "assistant" && last.parts.length === 0 && last.toolCalls.length === 0;
    const isCall = message.role === "assistant" && message.parts.length === 0 && message.thinking === undefined;
    if (last?.role !== "assistant" || message.role !== "assistant" || !(isThought || isCall)) joined.push(message);
    else {
      const thinking = (last.thinking ?? "") + (message.thinking ?? "");
      const parts = [...last.parts, ...message.parts];
      const toolCalls = [...last.toolCalls, ...message.toolCalls];
      joined[joined.length - 1] = { ...message, parts, ...(thinking === "" ? {} : { thinking }), toolCalls };
    }
  }
  return joined;
}

function speakerOfItem(item: unknown): Speaker {
  if (!isObject(item)) return "other";
  const type = typeOf(item);
  if (type === "message") return bringsCalls(item) ? speakerOf(item) : (roleOf(item) ?? "other");
  if (type === "agent_message") return "user";
  if (isOutput(type)) return "tool";
  return ["reasoning", "function_call", "custom_tool_call"].includes(type) ? "assistant" : "other";
}

function roleOf({ role }: JsonObject): Speaker | undefined {
  return typeof role === "string" && Object.hasOwn(speakers, role)
    ? speakers[role as keyof typeof speakers]
    : undefined; // it is a key
}

/** Whether an item of this type is the result of a call. */
export function isOutput(type: unknown): boolean {
  return type === "function_call_output" || type === "custom_tool_call_output";
}

const otherCall = /^(?!function_|custom_tool_)(.+)_call$/;

/**
 * Calls of other kinds that the client answered (`local_shell_call`, `computer_call`), and their results, as those of functions: the
 * model sees what was done.
 */
function withPairs(items: readonly unknown[]): readonly unknown[] {
  const idsOf = (kind: RegExp) =>
    new Set(items.flatMap((item) => (isObject(item) && kind.test(typeOf(item)) ? [item["call_id"]] : [])));
  const [asked, answered] = [idsOf(otherCall), idsOf(/_output$/)];
  return items.map((item) => {
    if (!isObject(item)) return item;
    const { id: _id, type: _type, call_id: callId, status: _status, ...more } = item;
    if (typeof callId !== "string" || !asked.has(callId) || !answered.has(callId)) return item;
    const [, name] = otherCall.exec(typeOf(item)) ?? [];
    if (name !== undefined) return { type: "function_call", call_id: callId, name, arguments: writeJson(more) };
    if (!typeOf(item).endsWith("_output")) return item;
    const { output } = more;
    const isPicture = isObject(output) && output["type"] === "computer_screenshot";
    return { type: "function_call_output", call_id: callId, output: isPicture ? [output] : output };
  });
}

function parseItem(item: JsonObject, path: string, history: History): Message[] {
  const type = typeOf(item);
  const role = roleOf(item);
  const answer = (said: Partial<Message & { readonly role: "assistant" }>): Message[] => [
    { role: "assistant", parts: [], toolCalls: [], ...said },
  ];
  if (type === "message" && role !== undefined) {
    const parts = parseContent(item["content"], `${path}.content`, history);
    if (role === "assistant") return parts.length === 0 ? [] : answer({ parts });
    return [{ role: role === "user" ? "user" : "system", parts }];
  }
  if (type === "reasoning") {
    const { summary, content } = item;
    const texts = textsIn(Array.isArray(content) && content.length > 0 ? content : summary);
    const thinking = texts.filter((text) => text !== "").join("\n\n");
    return thinking === "" ? [] : answer({ thinking });
  }
  if (type === "function_call" || type === "custom_tool_call") {
    const { call_id: id, name: own, namespace, arguments: written, input } = item;
    const name = typeof own === "string" ? joinName(typeof namespace === "string" ? namespace : "", own) : own;
    const isFree = type === "custom_tool_call";
    const call = isFree ? ({ id, name, input, kind: "freeform" } as const) : { id, name, input: written };
    const toolCalls = readCall(call, history);
    return toolCalls.length === 0 ? [] : answer({ toolCalls });
  }
  if (isOutput(type)) {
    const { call_id: id, name, output } = item;
    return [readResult({ id, name, content: output }, `${path}.output`, history)];
  }
  if (type === "agent_message") return agentMessage(item, path, history);
  const notes = /compact|context|summary/.test(type) ? notesOf(item) : undefined;
  if (notes === undefined && !toolItems.has(type))
    history.leaveOut(
      type === "message" ? `message of ${typeof item["role"] === "string" ? item["role"] : "none"}` : type,
    );
  return notes === undefined ? [] : [notes];
}

/** Items that bring tools: `parseTools` reads them. */
const toolItems = new Set(["additional_tools", "tool_search_output"]);

/** The tools that items bring, each with its place in the body. Source: docs/dev/wire/clients.md, "Responses". */
export function toolsOfItems(
  input: z.infer<typeof inputSchema>,
): readonly { readonly tool: unknown; readonly path: string }[] {
  if (!Array.isArray(input)) return [];
  return input.flatMap((item, i) => {
    if (!isObject(item) || !toolItems.has(typeOf(item)) || !Array.isArray(item["tools"])) return [];
    return item["tools"].map((tool: unknown, n) => ({ tool, path: `input[${i}].tools[${n}]` }));
  });
}

/** A message between agents of one client. Its parts may call themselves encrypted and hold plain text. */
function agentMessage(item: JsonObject, path: string, history: History): Message[] {
  const given = item["content"];
  const parts = Array.isArray(given) ? given : [isObject(given) ? given : { type: "input_text", text: given }];
  const read = parts.flatMap((part, i) => {
    const { type, encrypted_content: sealed } = isObject(part) ? part : {};
    if (type !== "encrypted_content") return parsePart(part, `${path}.content[${i}]`, history);
    if (isPlain(sealed)) return textParts([sealed]);
    history.leaveOut("encrypted_content");
    return [];
  });
  if (read.length === 0) return [];
  const name = (member: string) => (typeof item[member] === "string" ? item[member] : "?");
  return [{ role: "user", parts: [{ type: "text", text: `${name("author")} → ${name("recipient")}:\n` }, ...read] }];
}

function typeOf(item: JsonObject): string {
  if (typeof item["type"] === "string") return item["type"];
  return item["role"] ? "message" : "item";
}

const prefix = "millrace.1.";

/** Notes as the opaque text of a compaction item. It is packed, not encrypted: it goes back to the client whose conversation it is. */
export function packNotes(notes: string): string {
  return prefix + btoa(encodeURIComponent(notes));
}

/** Whether a text is no ciphertext: those are long, and of the letters of base64 alone. */
function isPlain(text: unknown): text is string {
  return typeof text === "string" && text !== "" && (text.length < 24 || /[^A-Za-z0-9+/=_-]/.test(text));
}

/** The text of an item that stands for an earlier part of the conversation, as a message; undefined if nobody here can read it. */
function notesOf(item: JsonObject): Message | undefined {
  const { encrypted_content: sealed, summary, content: given, text, message } = item;
  const unsealed =
    typeof sealed === "string" && sealed.startsWith(prefix) ? unpacked(sealed) : isPlain(sealed) ? sealed : "";
  const texts = [unsealed, ...[summary, given, text, message].flatMap(textsIn)].filter((one) => one !== "");
  return texts.length === 0 ? undefined : notesMessage(texts.join("\n\n"));
}

/** The message by which a conversation goes on from the notes of a compaction. */
export function notesMessage(notes: string): Message {
  return { role: "user", parts: [{ type: "text", text: `Notes of the conversation before this point:\n\n${notes}` }] };
}

function unpacked(sealed: string): string {
  try {
    return decodeURIComponent(atob(sealed.slice(prefix.length)));
  } catch {
    return "";
  }
}

/** The texts of a member that is a text, or a list of parts. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isObject(value) && typeof value["text"] === "string" ? [value["text"]] : [];
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
