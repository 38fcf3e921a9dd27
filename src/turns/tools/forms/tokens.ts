import type { ToolNames } from "../names.ts";
import type { CallAttempt } from "./call-shapes.ts";
import { callsOf, readCalls } from "./read-calls.ts";

/** Beginnings of calls in the raw output of several model families (Kimi, DeepSeek, Harmony, Llama, Mistral). */
const token = /^(?:<\|(?:tool_calls_section_begin|tool_calls?_begin|python_tag|channel|tool_call)\|>|\[TOOL_CALLS?\])/;
const tokenSoFar = /^(?:<(?:\|[a-z_]{0,30}\|?)?|\[(?:T[A-Z_]{0,9})?)$/;
/** Where a model's own block of calls ends. */
const blockEnd =
  /(?:<\|tool_calls_section_end\|>|<\|tool_calls_end\|>|<\|call\|>|<\|eo[mt]_id\|>|<\|\/tool_call\|>|\[\/TOOL_CALLS?\])\s*$/;

/** Full-width and block characters that some models use inside their tokens, as plain ones of the same length. */
function plain(text: string): string {
  return text.replaceAll("｜", "|").replaceAll("▁", "_");
}

/** Whether a text begins with a token of a call. */
export function hasToken(text: string): "yes" | "no" | "unknown" {
  const head = plain(text.slice(0, 40));
  if (tokenSoFar.test(head)) return "unknown";
  return token.test(head) ? "yes" : "no";
}

/** The calls of a text that is one block in control tokens. */
export function tokenCalls(written: string, names: ToolNames): readonly CallAttempt[] | undefined {
  if (hasToken(written) !== "yes") return undefined;
  const block = plain(written).replace(blockEnd, "");
  if (block.startsWith("<|channel|>")) {
    const messages = block.matchAll(/to=([\w.:/-]+)[^]{0,200}?<\|message\|>([^]*?)(?=<\||$)/g);
    const calls = [...messages].flatMap(([, asked = "", body = ""]) => callsOf(asked, body, names));
    return calls.length > 0 ? calls : undefined;
  }
  const pieces = block.split(/<\|(?:tool_calls?(?:_section)?_(?:begin|end)|python_tag|tool_call)\|>|\[TOOL_CALLS?\]/);
  const calls = pieces
    .filter((piece) => piece.trim() !== "")
    .map((piece) => piece.replace(/^\s*function<\|tool_sep\|>|<\|(?:tool_sep|tool_call_argument_begin)\|>/g, ""))
    .map((piece) => readCalls(piece, names));
  return calls.length > 0 && calls.every((each) => each !== undefined) ? calls.flat() : undefined;
}
