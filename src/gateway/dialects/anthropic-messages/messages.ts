import { z } from "zod";
import { writeJson } from "../../../base/json.ts";
import type { Message, Part, ToolCall } from "../../../log/request.ts";
import { parseAt, textParts } from "../parse-body.ts";
import { anyBlock, parsePartBlock } from "./blocks.ts";

const content = z.union([z.string(), z.array(anyBlock)]);

export const systemSchema = content.nullish();
export const messagesSchema = z
  .array(z.object({ role: z.enum(["user", "assistant", "system"]), content: content.nullish() }))
  .min(1, "At least one message is needed.");

const toolUse = z.object({
  type: z.string(),
  id: z.string().min(1),
  name: z.string().min(1),
  input: z.unknown().optional(),
});
const toolResult = z.object({
  type: z.string(),
  tool_use_id: z.string().min(1),
  content: content.nullish(),
  is_error: z.boolean().nullish(),
});
const thinking = z.object({ type: z.string(), thinking: z.string(), signature: z.string().nullish() });

/** Claude Code's first system block: client metadata that changes with every conversation, and no part of the prompt. */
const billingHeader = /^x-anthropic-billing-header\b/i;

type WireMessage = z.infer<typeof messagesSchema>[number];

/** The system prompt as messages; Claude Code's billing line is left out. Source: docs/wire/clients.md, "Messages". */
export function parseSystem(system: z.infer<typeof systemSchema>): Message[] {
  if (system === null || system === undefined) return [];
  const blocks = typeof system === "string" ? [{ type: "text", text: system }] : system;
  const parts = blocks.flatMap((block, i) => parsePartBlock(block, `system[${i}]`));
  const [first] = parts;
  const kept = first?.type === "text" && billingHeader.test(first.text) ? parts.slice(1) : parts;
  return kept.length === 0 ? [] : [{ role: "system", parts: kept }];
}

/**
 * Messages of every role. A user message with tool results becomes those results, in order, and then its other parts.
 * Thinking is kept only where a vendor signed it; Millrace never signs. Source: docs/wire/clients.md, "Messages".
 *
 * @throws MillraceError `invalid_request` with the path of what does not fit.
 */
export function parseMessages(messages: readonly WireMessage[]): Message[] {
  return messages.flatMap((message, index) => parseMessage(message, `messages[${index}]`));
}

function parseMessage({ role, content: given }: WireMessage, path: string): Message[] {
  const blocks = typeof given === "string" ? [{ type: "text", text: given }] : (given ?? []);
  const at = (i: number) => (typeof given === "string" ? `${path}.content` : `${path}.content[${i}]`);
  if (role === "assistant") return [parseAssistant(blocks, at)];
  const results: Message[] = [];
  const parts: Part[] = [];
  for (const [i, block] of blocks.entries()) {
    if (block.type === "tool_result") results.push(parseResult(block, at(i)));
    else parts.push(...parsePartBlock(block, at(i)));
  }
  if (parts.length === 0 && results.length > 0) return results;
  return [...results, { role, parts }];
}

function parseAssistant(blocks: readonly z.infer<typeof anyBlock>[], at: (i: number) => string): Message {
  const parts: Part[] = [];
  const toolCalls: ToolCall[] = [];
  let thought = "";
  for (const [i, block] of blocks.entries()) {
    if (block.type === "tool_use") {
      const { id, name, input } = parseAt(toolUse, block, at(i));
      toolCalls.push({ callId: id, name, arguments: writeJson(input ?? {}), kind: "function" });
    } else if (block.type === "thinking") {
      const { thinking: text, signature } = parseAt(thinking, block, at(i));
      if (signature) thought += text;
    } else parts.push(...parsePartBlock(block, at(i)));
  }
  return { role: "assistant", parts, ...(thought === "" ? {} : { thinking: thought }), toolCalls };
}

function parseResult(block: unknown, path: string): Message {
  const { tool_use_id: callId, content: given, is_error: isError } = parseAt(toolResult, block, path);
  const parts =
    typeof given === "string"
      ? textParts([given])
      : (given ?? []).flatMap((inner, i) => parsePartBlock(inner, `${path}.content[${i}]`));
  return { role: "tool", callId, parts, isError: isError ?? false };
}
