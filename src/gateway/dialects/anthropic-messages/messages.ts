import { z } from "zod";
import { isObject, type JsonObject, writeJson } from "../../../base/json.ts";
import type { Message, Part, ToolCall } from "../../../log/request.ts";
import type { History, Speaker, WireMessage } from "../history.ts";
import { parseAt, resultContent, textParts } from "../parse-body.ts";
import { content, parsePartBlock } from "./blocks.ts";
import { blocksOf, isDirective } from "./directives.ts";

export const systemSchema = content.nullish();
export const messagesSchema = z.array(z.unknown()).min(1, "At least one message is needed.");

const toolUse = z.object({
  type: z.string(),
  id: z.string().min(1),
  name: z.string().min(1),
  input: z.unknown().optional(),
});
const toolResult = z.object({
  type: z.string(),
  tool_use_id: z.string().min(1),
  is_error: z.boolean().nullish(),
});
const thinking = z.object({ type: z.string(), thinking: z.string(), signature: z.string().nullish() });

/** Claude Code's first system block: client metadata that changes with every conversation, and no part of the prompt. */
const billingHeader = /^x-anthropic-billing-header\b/i;

/** The system prompt as messages; Claude Code's billing line is left out. Source: docs/dev/wire/clients.md, "Messages". */
export function parseSystem(system: z.infer<typeof systemSchema>, history: History): Message[] {
  if (system === null || system === undefined) return [];
  const blocks = typeof system === "string" ? [{ type: "text", text: system }] : system;
  const parts = history.readOther(() => blocks.flatMap((block, i) => parsePartBlock(block, `system[${i}]`, history)));
  const [first] = parts;
  const kept = first?.type === "text" && billingHeader.test(first.text) ? parts.slice(1) : parts;
  return kept.length === 0 ? [] : [{ role: "system", parts: kept }];
}

/**
 * Messages of every role; those of a role that is not known are left out. A user message with tool results becomes those results, in
 * order, and then its other parts. Thinking is kept only where a vendor signed it; Millrace never signs. Changes of tools and of the
 * effort are no part of the prompt (`directives.ts`). Source: docs/dev/wire/clients.md, "Messages".
 *
 * @throws MillraceError `invalid_request` with the path of what does not fit.
 */
export function parseMessages(messages: readonly unknown[], history: History): Message[] {
  return history.readMessages(messages, speakerOf, (message, path) => parseMessage(message, path, history));
}

function speakerOf({ role, content: given }: WireMessage): Speaker {
  if (role === "assistant") return role;
  if (role !== "user") return "other";
  const hasResult = Array.isArray(given) && given.some((block) => isObject(block) && block["type"] === "tool_result");
  return hasResult ? "tool" : "user";
}

const anyContent = z.object({ content: content.nullish() });

function parseMessage(message: WireMessage, path: string, history: History): Message[] {
  const { role } = message;
  const given = history.read("content", () => parseAt(anyContent, message, path).content, undefined);
  const blocks = blocksOf(given).filter((block) => !isDirective(block));
  const at = (i: number) => (typeof given === "string" ? `${path}.content` : `${path}.content[${i}]`);
  if (role === "assistant") return [parseAssistant(blocks, at, history)];
  const spoken = role === "developer" ? "system" : role;
  if (spoken !== "user" && spoken !== "system") {
    history.leaveOut(`message of ${role}`);
    return [];
  }
  const results: Message[] = [];
  const parts: Part[] = [];
  for (const [i, block] of blocks.entries()) {
    if (isObject(block) && block["type"] === "tool_result") results.push(parseResult(block, at(i), history));
    else parts.push(...parsePartBlock(block, at(i), history));
  }
  if (parts.length === 0 && (results.length > 0 || spoken === "system")) return results;
  return [...results, { role: spoken, parts }];
}

function parseAssistant(blocks: readonly unknown[], at: (i: number) => string, history: History): Message {
  const parts: Part[] = [];
  const toolCalls: ToolCall[] = [];
  let thought = "";
  for (const [i, block] of blocks.entries()) {
    const type = isObject(block) ? block["type"] : undefined;
    if (type === "tool_use") {
      const { id, name, input } = parseAt(toolUse, block, at(i));
      toolCalls.push({ callId: id, name, arguments: writeJson(input ?? {}), kind: "function" });
    } else if (type === "thinking") {
      const { thinking: text, signature } = history.read(type, () => parseAt(thinking, block, at(i)), noThought);
      if (signature) thought += text;
    } else parts.push(...parsePartBlock(block, at(i), history));
  }
  return { role: "assistant", parts, ...(thought === "" ? {} : { thinking: thought }), toolCalls };
}

const noThought = { type: "thinking", thinking: "", signature: undefined };

function parseResult(block: JsonObject, path: string, history: History): Message {
  const { tool_use_id: callId, is_error: isError } = parseAt(toolResult, block, path);
  const given = resultContent(block["content"]);
  const parts =
    typeof given === "string"
      ? textParts([given])
      : given.flatMap((inner, i) => parsePartBlock(inner, `${path}.content[${i}]`, history));
  return { role: "tool", callId, parts, isError: isError ?? false };
}
