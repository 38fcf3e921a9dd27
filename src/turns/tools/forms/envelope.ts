import { isObject } from "../../../base/json.ts";
import type { ToolNames } from "../names.ts";
import { type CallAttempt, callsFromJson } from "./call-shapes.ts";
import { wholeJson } from "./foreign-forms.ts";
import { closingBracket } from "./loose-json.ts";
import { bareJsonReader, type WholeReader } from "./whole-blocks.ts";

/** The content of a JSON object around an answer: calls of offered tools, or the text of an answer without calls. */
export type Envelope =
  | { readonly holds: "calls"; readonly calls: readonly CallAttempt[] }
  | { readonly holds: "text"; readonly text: string };

/**
 * Reads `{"action":"tool_call","tool_calls":[…]}`, `{"tool_calls":[…]}` and `{"action":"final","content":"…"}`: the convention of a
 * plugin that many users come from. Undefined when it is none of them, or a call names no offered tool.
 */
export function readEnvelope(value: unknown, names: ToolNames): Envelope | undefined {
  if (!isObject(value)) return undefined;
  const { action, content, tool_calls: listed } = value;
  if (action === "final") return typeof content === "string" ? { holds: "text", text: content } : undefined;
  if (!Array.isArray(listed) || (action !== undefined && action !== "tool_call")) return undefined;
  const calls = callsFromJson(listed, names);
  if (calls === undefined || calls.some(({ tool }) => tool === undefined)) return undefined;
  return { holds: "calls", calls };
}

const keys = [/^\{\s*"action"\s*:\s*"(tool_call|final)"/, /^\{\s*"tool_calls"\s*:\s*\[/];
const partial = /^\{\s*(?:"[a-z_]{0,10}"?\s*:?\s*"?[a-z_]{0,9}|)$/;

/** Whether text that begins with `{` may become an envelope. "unknown" until its first key, and that key's value, are there. */
function mayBeEnvelope(text: string): "yes" | "no" | "unknown" {
  if (keys.some((key) => key.test(text))) return "yes";
  if (!partial.test(text)) return "no";
  const bare = text.replace(/\s/g, "");
  return ['{"action":"tool_call"', '{"action":"final"', '{"tool_calls":['].some((whole) => whole.startsWith(bare))
    ? "unknown"
    : "no";
}

export interface ObjectPosition {
  readonly atLineStart: boolean;
  /** Nothing of the answer stands before it. */
  readonly first: boolean;
  /** The end of the text before it on its line. */
  readonly before: string;
}

/**
 * Reads an object that stands between sentences or alone. One inside a sentence is shown, not meant, and stays text; so does a
 * final text that is not the whole answer. Other JSON at the start of a line is read as `bareJsonReader` reads it.
 */
export function envelopeReader(names: ToolNames, place: ObjectPosition): WholeReader {
  const bare = bareJsonReader(names);
  const other = (text: string, end: Parameters<WholeReader>[1]): ReturnType<WholeReader> =>
    place.atLineStart ? bare(text, end) : { is: "text", length: 1 };
  return (text, end) => {
    const may = mayBeEnvelope(text);
    if (may === "unknown" && end === undefined) return "more";
    if (may !== "yes" || end === "length") return other(text, end);
    const length = closingBracket(text, 0);
    if (length === -1) return end === undefined ? "more" : other(text, end);
    const json = wholeJson(text.slice(0, length));
    const envelope = readEnvelope(json, names);
    if (envelope === undefined) return other(text, end);
    const rest = text.slice(length);
    if (envelope.holds === "text") {
      if (!place.first || rest.trim() !== "") return { is: "text", length: 1 };
      return end === undefined ? "more" : { is: "said", length: text.length, text: envelope.text };
    }
    if (!isObject(json) || json["action"] === undefined) return other(text, end);
    if (rest.trim() === "" && !rest.includes("\n") && end === undefined) return "more";
    if (!beginsSentence(place) || !endsBefore(rest)) return { is: "text", length };
    return { is: "calls", length, calls: envelope.calls, explicit: true, mayBeShown: true };
  };
}

function beginsSentence({ atLineStart, before }: ObjectPosition): boolean {
  return atLineStart || /[.!?:…"”)\]]\s+$/.test(before);
}

/** Whether the text after the object begins something new, so that the object is not inside a sentence. */
function endsBefore(rest: string): boolean {
  return /^[ \t]*(?:$|[\r\n]|[\p{Lu}"“(*#-])/u.test(rest);
}
