import { z } from "zod";
import { isObject, objectOf } from "../../../base/json.ts";
import type { Message, Part, ToolCall } from "../../../log/request.ts";
import { readCall, readResult } from "../calls.ts";
import { parsePart } from "../content.ts";
import type { History, WireMessage } from "../history.ts";
import { parseAt } from "../parse-body.ts";
import { blocksOf, isDirective } from "./directives.ts";

const thinking = z.object({ type: z.string(), thinking: z.string(), signature: z.string().nullish() });

/**
 * One message by its role. A user message with tool results becomes those results, in order, and then its other parts. Thinking is kept
 * only where a vendor signed it; Millrace never signs. Changes of tools and of the effort are no part of the prompt (`directives.ts`).
 * Source: docs/dev/wire/clients.md, "Messages".
 */
export function parseBlockMessage(message: WireMessage, path: string, history: History): Message[] {
  const { role, content: given } = message;
  const blocks = blocksOf(given).filter((block) => !isDirective(block));
  const at = (i: number) => (Array.isArray(given) ? `${path}.content[${i}]` : `${path}.content`);
  if (role === "assistant") return [parseAssistant(blocks, at, history)];
  const spoken = role === "developer" ? "system" : role;
  if (spoken !== "user" && spoken !== "system") {
    history.leaveOut(`message of ${role}`);
    return [];
  }
  const results: Message[] = [];
  const parts: Part[] = [];
  for (const [i, block] of blocks.entries()) {
    if (isObject(block) && block["type"] === "tool_result") {
      const { tool_use_id: id, content: inside, is_error: isError } = block;
      results.push(readResult({ id, content: inside, isError: Boolean(isError) }, `${at(i)}.content`, history));
    } else parts.push(...parsePart(block, at(i), history));
  }
  if (parts.length === 0 && (results.length > 0 || spoken === "system")) return results;
  return [...results, { role: spoken, parts }];
}

function parseAssistant(blocks: readonly unknown[], at: (i: number) => string, history: History): Message {
  const parts: Part[] = [];
  const toolCalls: ToolCall[] = [];
  let thought = "";
  for (const [i, block] of blocks.entries()) {
    const { type, id, name, input } = objectOf(block);
    if (type === "tool_use") toolCalls.push(...readCall({ id, name, input }, history));
    else if (type === "thinking") {
      const { thinking: text, signature } = history.read(type, () => parseAt(thinking, block, at(i)), noThought);
      if (signature) thought += text;
    } else parts.push(...parsePart(block, at(i), history));
  }
  return { role: "assistant", parts, ...(thought === "" ? {} : { thinking: thought }), toolCalls };
}

const noThought = { type: "thinking", thinking: "", signature: undefined };
