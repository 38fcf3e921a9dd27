import { z } from "zod";
import { isObject, type JsonObject, writeJson } from "../../../base/json.ts";
import type { Message, Part, ToolCall } from "../../../log/request.ts";
import { content, parseContent, parsePart } from "../content.ts";
import type { History, WireMessage } from "../history.ts";
import { parseAt, resultContent } from "../parse-body.ts";
import { blocksOf, isDirective } from "./directives.ts";

export const systemSchema = content.nullish();

const toolUse = z.object({
  type: z.string(),
  id: z.string().min(1),
  name: z.string().min(1),
  input: z.unknown().optional(),
});
const toolResult = z.object({
  type: z.string(),
  tool_use_id: z.string().nullish(),
  is_error: z.boolean().nullish(),
});
const thinking = z.object({ type: z.string(), thinking: z.string(), signature: z.string().nullish() });

/** Claude Code's first system block: client metadata that changes with every conversation, and no part of the prompt. */
const billingHeader = /^x-anthropic-billing-header\b/i;

/** The system prompt as messages; Claude Code's billing line is left out. Source: docs/dev/wire/clients.md, "Messages". */
export function parseSystem(system: z.infer<typeof systemSchema>, history: History): Message[] {
  if (system === null || system === undefined) return [];
  const parts = history.readOther(() => parseContent(system, "system", history));
  const [first] = parts;
  const kept = first?.type === "text" && billingHeader.test(first.text) ? parts.slice(1) : parts;
  return kept.length === 0 ? [] : [{ role: "system", parts: kept }];
}

const anyContent = z.object({ content: content.nullish() });

/**
 * One message by its role. A user message with tool results becomes those results, in order, and then its other parts. Thinking is kept
 * only where a vendor signed it; Millrace never signs. Changes of tools and of the effort are no part of the prompt (`directives.ts`).
 * Source: docs/dev/wire/clients.md, "Messages".
 *
 * @throws MillraceError `invalid_request` with the path of what does not fit.
 */
export function parseBlockMessage(message: WireMessage, path: string, history: History): Message[] {
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
    else parts.push(...parsePart(block, at(i), history));
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
    } else parts.push(...parsePart(block, at(i), history));
  }
  return { role: "assistant", parts, ...(thought === "" ? {} : { thinking: thought }), toolCalls };
}

const noThought = { type: "thinking", thinking: "", signature: undefined };

function parseResult(block: JsonObject, path: string, history: History): Message {
  const { tool_use_id: callId, is_error: isError } = parseAt(toolResult, block, path);
  const parts = parseContent(resultContent(block["content"]), `${path}.content`, history);
  return { role: "tool", callId: callId ?? "", parts, isError: isError ?? false };
}
