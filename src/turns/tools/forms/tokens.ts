import type { ToolNames } from "../names.ts";
import type { CallAttempt } from "./call-shapes.ts";
import { callsOf, readCalls } from "./read-calls.ts";

/** Beginnings of calls in the raw output of several model families (Kimi, DeepSeek, Harmony, Llama, Mistral). */
const token = /^(?:<\|(?:tool_calls_section_begin|tool_calls?_begin|python_tag|channel|tool_call)\|>|\[TOOL_CALLS?\])/;
const tokenSoFar = /^(?:<(?:\|[a-z_]{0,30}\|?)?|\[(?:T[A-Z_]{0,9})?)$/;
/** Where a model's own block of calls ends. */
const blockEnd =
  /<\|tool_calls_section_end\|>|<\|tool_calls_end\|>|<\|call\|>|<\|eo[mt]_id\|>|<\|\/tool_call\|>|\[\/TOOL_CALLS?\]/;

/** Full-width and block characters that some models use inside their tokens, as plain ones of the same length. */
function plain(text: string): string {
  return text.replaceAll("｜", "|").replaceAll("▁", "_");
}

/** A block of calls in control tokens at the start of a text. `calls` is undefined where they cannot be read. "open": one may begin. */
export function readTokens(written: string, names: ToolNames) {
  if (!/^[<[]/.test(written)) return undefined;
  const head = plain(written.slice(0, 40));
  if (tokenSoFar.test(head)) return "open";
  if (!token.test(head)) return undefined;
  const text = plain(written);
  const ended = blockEnd.exec(text);
  const end = ended === null ? text.length : ended.index + ended[0].length;
  return { end, calls: callsIn(text.slice(0, ended?.index), names) };
}

function callsIn(block: string, names: ToolNames): readonly CallAttempt[] | undefined {
  if (block.startsWith("<|channel|>")) {
    const messages = block.matchAll(/to=([\w.:/-]+)[^]{0,200}?<\|message\|>([^]*?)(?=<\||$)/g);
    const calls = [...messages].flatMap(([, asked = "", body = ""]) => callsOf(asked, body, names));
    return calls.length > 0 ? calls : undefined;
  }
  const pieces = block.split(/<\|(?:tool_calls?(?:_section)?_(?:begin|end)|python_tag|tool_call)\|>|\[TOOL_CALLS?\]/);
  const calls = pieces
    .filter((piece) => piece.trim() !== "")
    .map((piece) => piece.replace(/^\s*function<\|tool_sep\|>|<\|(?:tool_sep|tool_call_argument_begin)\|>/g, ""))
    .map((piece) => readCalls(piece.replace(".call(", "("), names));
  return calls.length > 0 && calls.every((each) => each !== undefined) ? calls.flat() : undefined;
}
