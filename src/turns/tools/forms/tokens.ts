import type { ToolNames } from "../names.ts";
import { type CallAttempt, findTool } from "./call-shapes.ts";
import { callsOf, readCalls } from "./read-calls.ts";
import type { Source } from "./source.ts";

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

/** The length of the token at the start of a text; 0 if there is none. */
export function tokenLength(source: Source): number {
  const start = plain(source.text.slice(0, 40));
  const found = token.exec(start);
  if (found === null && tokenSoFar.test(start)) source.wait();
  return found?.[0].length ?? 0;
}

/** A block of calls in control tokens. `calls` is undefined where they cannot be read. */
export function readTokens(source: Source, names: ToolNames) {
  const text = plain(source.text);
  const ended = blockEnd.exec(text);
  if (ended === null) source.wait();
  const end = ended === null ? text.length : ended.index + ended[0].length;
  return { end, calls: callsIn(text.slice(0, ended?.index), names) };
}

function callsIn(block: string, names: ToolNames): readonly CallAttempt[] | undefined {
  if (block.startsWith("<|channel|>")) {
    const messages = block.matchAll(/to=([\w.:/-]+)[^]{0,200}?<\|message\|>([^]*?)(?=<\||$)/g);
    const calls = [...messages].flatMap(([, asked = "", body = ""]) =>
      callsOf(asked, findTool(asked, names), body, names),
    );
    return calls.length > 0 ? calls : undefined;
  }
  const pieces = block.split(/<\|(?:tool_calls?(?:_section)?_(?:begin|end)|python_tag|tool_call)\|>|\[TOOL_CALLS?\]/);
  const calls = pieces
    .filter((piece) => piece.trim() !== "")
    .map((piece) => piece.replace(/^\s*function<\|tool_sep\|>|<\|(?:tool_sep|tool_call_argument_begin)\|>/g, ""))
    .map((piece) => readCalls(piece.replace(".call(", "("), names));
  return calls.length > 0 && calls.every((each) => each !== undefined) ? calls.flat() : undefined;
}
