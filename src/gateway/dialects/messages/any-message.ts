import { z } from "zod";
import { isObject, type JsonObject } from "../../../base/json.ts";
import type { Message } from "../../../log/request.ts";
import type { History, Speaker, WireMessage } from "../history.ts";
import { parseBlockMessage } from "./block-message.ts";
import { parseChatMessage } from "./chat-message.ts";

/** `messages` of a request. Each is read by its role and form. Source: docs/dev/wire/requirements.json. */
export const messagesSchema = z.array(z.unknown()).min(1, "At least one message is needed.");

/** Whose form a message has: Chat Completions put calls beside the content, Messages put calls and results into it. */
type Form = "chat" | "blocks";

/** The form of a message that brings calls or results; undefined for others, which look alike. */
export function formOf({ role, content, tool_calls: calls, function_call: legacy }: JsonObject): Form | undefined {
  const isCall = (block: unknown) =>
    isObject(block) && (block["type"] === "tool_use" || block["type"] === "tool_result");
  if (Array.isArray(content) && content.some(isCall)) return "blocks";
  const hasCalls = (Array.isArray(calls) && calls.length > 0) || isObject(legacy);
  return role === "tool" || role === "function" || (role === "assistant" && hasCalls) ? "chat" : undefined;
}

export function speakerOf({ role, content }: JsonObject): Speaker {
  if (role === "assistant") return "assistant";
  if (role === "tool" || role === "function") return "tool";
  if (role !== "user") return "other";
  const isResult = (block: unknown) => isObject(block) && block["type"] === "tool_result";
  return Array.isArray(content) && content.some(isResult) ? "tool" : "user";
}

/**
 * One message, which may have the form of another API: programs send one API's calls and results to another. `own`: the form of this API,
 * whose mistakes are errors; a message in another form that cannot be read is left out.
 */
export function readMessage(message: WireMessage, path: string, history: History, own?: Form): Message[] {
  const form = formOf(message) ?? own;
  const parse = form === "chat" ? parseChatMessage : parseBlockMessage;
  if (form === own) return parse(message, path, history);
  return history.read(`message of ${message.role}`, () => parse(message, path, history), []);
}

/**
 * Messages of every role; those of a role that is not known are left out.
 *
 * @throws MillraceError `invalid_request` for content of the newest message that cannot go upstream, with the path.
 */
export function readMessages(messages: readonly unknown[], history: History, own: Form): Message[] {
  return history.readMessages(messages, speakerOf, (message, path) => readMessage(message, path, history, own));
}
