import { z } from "zod";
import { isObject, type JsonObject, objectOf } from "../../../base/json.ts";
import type { Message, Part, ToolCall } from "../../../log/request.ts";
import { objectsIn, readCall, readResult } from "../calls.ts";
import { parsePart } from "../content.ts";
import { bareImages } from "../files.ts";
import type { History, Speaker, WireMessage } from "../history.ts";
import { textParts } from "../parse-body.ts";
import { blocksOf, isDirective } from "./directives.ts";

/** `messages` of a request. Each is read by its role and form. Source: docs/dev/wire/requirements.json. */
export const messagesSchema = z.array(z.unknown()).min(1, "At least one message is needed.");

/** Whether a message brings calls or results: Chat Completions put calls beside the content, Messages put calls and results into it. */
export function bringsCalls({ role, content, tool_calls: calls, function_call: legacy }: JsonObject): boolean {
  const isCall = (block: unknown) =>
    isObject(block) && (block["type"] === "tool_use" || block["type"] === "tool_result");
  if (Array.isArray(content) && content.some(isCall)) return true;
  const hasCalls = (Array.isArray(calls) && calls.length > 0) || isObject(legacy);
  return role === "tool" || role === "function" || (role === "assistant" && hasCalls);
}

export function speakerOf({ role, content }: JsonObject): Speaker {
  if (role === "assistant") return "assistant";
  if (role === "tool" || role === "function") return "tool";
  if (role !== "user") return "other";
  const isResult = (block: unknown) => isObject(block) && block["type"] === "tool_result";
  return Array.isArray(content) && content.some(isResult) ? "tool" : "user";
}

/**
 * One message by its role, in the form of any API: programs send one API's messages to another. A user's message with results becomes those,
 * in order, and then its other parts. Thinking in a block is kept only where a vendor signed it; Millrace never signs. Changes of tools and
 * of the effort are no part of the prompt (`directives.ts`). Ollama has pictures beside the content. A role that is not known is left out.
 * Source: docs/dev/wire/clients.md, "Messages".
 */
export function readMessage(message: WireMessage, path: string, history: History): Message[] {
  const { role, content: given, images, tool_name: tool, name = tool } = message;
  const pictures = bareImages(history, images);
  if (role === "tool" || role === "function") {
    const id = role === "tool" ? message["tool_call_id"] : legacyCallId(name);
    const result = readResult({ id, name, content: given }, `${path}.content`, history);
    return [{ ...result, parts: [...result.parts, ...pictures] }];
  }
  const spoken = role === "developer" ? "system" : role;
  if (spoken !== "user" && spoken !== "system" && spoken !== "assistant") {
    history.leaveOut(`message of ${role}`);
    return [];
  }
  const parts: Part[] = [];
  const results: Message[] = [];
  const toolCalls: ToolCall[] = [];
  let thought = "";
  for (const [i, block] of blocksOf(given).entries()) {
    if (isDirective(block)) continue;
    const at = Array.isArray(given) ? `${path}.content[${i}]` : `${path}.content`;
    const { type, id, name: called, input, thinking, signature, ...more } = objectOf(block);
    if (spoken !== "assistant" && type === "tool_result") {
      const { tool_use_id: of, content: inside, is_error: isError } = more;
      results.push(readResult({ id: of, content: inside, isError: Boolean(isError) }, `${at}.content`, history));
    } else if (spoken === "assistant" && type === "tool_use")
      toolCalls.push(...readCall({ id, name: called, input }, history));
    else if (spoken === "assistant" && type === "thinking" && typeof thinking === "string")
      thought += signature ? thinking : "";
    else parts.push(...parsePart(block, at, history));
  }
  parts.push(...pictures);
  if (spoken === "assistant") return [answerOf(message, { parts, thought, toolCalls }, history)];
  if (parts.length === 0 && (results.length > 0 || spoken === "system")) return results;
  return [...results, { role: spoken, parts }];
}

/** What stands in the content of an answer, with what stands beside it. */
function answerOf(
  {
    reasoning_content: content,
    reasoning,
    thinking: ofOllama,
    refusal,
    tool_calls: made,
    function_call: legacy,
  }: WireMessage,
  { parts, thought, toolCalls }: { readonly parts: Part[]; readonly thought: string; readonly toolCalls: ToolCall[] },
  history: History,
): Message {
  const thinking = [thought, content, reasoning, ofOllama].find((text) => typeof text === "string" && text !== "");
  if (typeof refusal === "string") parts.push(...textParts([refusal]));
  toolCalls.push(...callsIn(made, history));
  if (isObject(legacy)) {
    const { name, arguments: input } = legacy;
    toolCalls.push(...readCall({ id: legacyCallId(name), name, input }, history));
  }
  return { role: "assistant", parts, ...(typeof thinking === "string" ? { thinking } : {}), toolCalls };
}

/** A call whose kind is not known is left out. */
function callsIn(list: unknown, history: History): ToolCall[] {
  return objectsIn(list).flatMap(({ id, type, function: called, custom }) => {
    if (isObject(custom))
      return readCall({ id, name: custom["name"], input: custom["input"], kind: "freeform" }, history);
    if (isObject(called)) return readCall({ id, name: called["name"], input: called["arguments"] }, history);
    history.leaveOut(typeof type === "string" ? type : "tool call");
    return [];
  });
}

/** The form before tools had no call ids: the function's name pairs a call with its result. */
function legacyCallId(name: unknown): string {
  return typeof name === "string" ? `function_${name}` : "";
}

/** @throws MillraceError `invalid_request` where nothing of the newest message can be read. */
export function readMessages(messages: readonly unknown[], history: History): Message[] {
  return history.readMessages(messages, speakerOf, (message, path) => readMessage(message, path, history));
}
