import type { ToolNames } from "../names.ts";
import { type CallAttempt, findTool } from "./call-shapes.ts";
import { readArguments, readCalls } from "./foreign-forms.ts";
import { plainTokens } from "./openers.ts";

/** Where a model's own block of calls ends. */
const blockEnd =
  /<\|tool_calls_section_end\|>|<\|tool_calls_end\|>|<\|call\|>|<\|eo[mt]_id\|>|<\|\/tool_call\|>|\[\/TOOL_CALLS?\]/;

/** The length and the content of a block of control tokens, if the block is complete. */
export function tokenBlockLength(text: string): number {
  const match = blockEnd.exec(plainTokens(text));
  return match === null ? -1 : match.index + match[0].length;
}

/**
 * Calls written in a model family's control tokens (Kimi, DeepSeek, Harmony, Llama, Mistral), up to the end of their
 * block. Undefined when they cannot be read.
 */
export function readTokenCalls(block: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const text = plainTokens(block).replace(blockEnd, "").trim();
  const harmony = [...text.matchAll(/(?:commentary|analysis)?\s*to=([\w.:/-]+)[^]*?<\|message\|>([^]*?)(?=<\||$)/g)];
  if (harmony.length > 0) return harmony.map((match) => attempt(match[1] ?? "", match[2] ?? "", names));
  const pieces = text
    .split(/<\|tool_call_begin\|>|<\|tool_call_end\|>|<\|tool_calls?(?:_section)?_begin\|>/)
    .filter((piece) => piece.trim() !== "");
  const calls = pieces.map((piece) => readPiece(piece.trim(), names));
  return calls.length > 0 && calls.every((found) => found !== undefined) ? calls.flat() : undefined;
}

function readPiece(piece: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const [head = "", ...rest] = piece.split(/<\|tool_sep\|>|<\|tool_call_argument_begin\|>/);
  if (rest.length === 0) return readCalls(piece.replace(/\.call\(/g, "("), names);
  const body = rest.join("");
  if (head.trim() !== "function") return [attempt(head.trim(), body, names)];
  const named = /^\s*([\w.:/-]+)\s*([^]*)$/.exec(body);
  return named === null ? undefined : [attempt(named[1] ?? "", named[2] ?? "", names)];
}

function attempt(asked: string, body: string, names: ToolNames): CallAttempt {
  const tool = findTool(asked, names);
  return { asked, tool, arguments: tool === undefined ? undefined : (readArguments(body, tool, names) ?? body) };
}
