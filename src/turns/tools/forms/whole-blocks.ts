import type { ShownTool, ToolNames } from "../names.ts";
import { type EndCause, ownCloser } from "./blocks.ts";
import { type CallAttempt, mayBeCall } from "./call-shapes.ts";
import { readArguments, readCalls, unfenced, wholeJson, xmlArguments } from "./foreign-forms.ts";
import { closingBracket } from "./loose-json.ts";
import { readTokenCalls, tokenBlockLength } from "./token-forms.ts";

/** The reading of a block that had to be complete before it could be read. */
export type BlockReading =
  /** Not a call: its text is passed on as text. */
  | { readonly is: "text"; readonly length: number }
  /** Calls; `explicit` when only a call is written like this. */
  | {
      readonly is: "calls";
      readonly length: number;
      readonly calls: readonly CallAttempt[];
      readonly explicit: boolean;
      /** An example may be written like this too. */
      readonly mayBeShown?: true;
    }
  /** The whole answer was an object around this text. */
  | { readonly is: "said"; readonly length: number; readonly text: string }
  /** It can only have been meant as a call, and cannot be read. */
  | { readonly is: "broken"; readonly length: number; readonly explicit: boolean };

/** Reads a block from the start of `text`, all of which belongs to the answer. "more" until it is whole; never at the end. */
export type WholeReader = (text: string, end: EndCause | undefined) => BlockReading | "more";

/** `<tool_call>{"name": …}</tool_call>` and its relatives; `tag` was read, `text` follows it. */
export function namelessReader(tag: string, names: ToolNames): WholeReader {
  const close = new RegExp(`<\\/\\s*(?:[a-z]+:)?${tag.replace(/s$/i, "")}s?\\s*>`, "gi");
  return (text, end) => {
    if (!/^\s*(?:$|[[{<`]|[\w.:/-]+\s*(?:$|[[{<`(\n]))/.test(text)) return { is: "text", length: 0 };
    const from = /^\s*[[{]/.test(text) ? Math.max(0, closingBracket(text, text.search(/[[{]/))) : 0;
    close.lastIndex = from;
    for (let match = close.exec(text); match !== null; match = close.exec(text)) {
      const calls = readCalls(text.slice(0, match.index), names);
      const length = match.index + match[0].length;
      if (calls !== undefined) return { is: "calls", length, calls, explicit: true };
      const alone = readCalls(text.slice(0, from), names);
      if (alone !== undefined && /^\s*</.test(text.slice(from))) {
        return { is: "calls", length: from, calls: alone, explicit: true };
      }
      if (end !== undefined || !/^\s*[[{]/.test(text)) return { is: "broken", length, explicit: true };
    }
    if (end === undefined) return "more";
    const calls = readCalls(text.slice(0, from), names) ?? readCalls(text, names);
    if (calls !== undefined) return { is: "calls", length: from > 0 ? from : text.length, calls, explicit: true };
    return { is: "broken", length: text.length, explicit: true };
  };
}

/** `<bash><command>ls</command></bash>`; `text` follows the opening tag. Text, unless it is all arguments of that tool. */
export function elementReader(tag: string, tool: ShownTool): WholeReader {
  const close = `</${tag}>`;
  const properties = Object.keys((tool.shownParameters["properties"] as object | undefined) ?? {}); // schema of an object
  return (text, end) => {
    const inner = text.trimStart();
    const first = /^<([\w.-]*)(>?)/.exec(inner);
    const mayBe =
      inner === "" ||
      inner.startsWith("{") ||
      close.startsWith(inner) ||
      inner.startsWith(close) ||
      (first !== null &&
        properties.some((key) => (first[2] === ">" ? key === first[1] : key.startsWith(first[1] ?? ""))));
    if (!mayBe) return { is: "text", length: 0 };
    const at = text.indexOf(close);
    if (at === -1) return end === undefined ? "more" : { is: "text", length: 0 };
    const body = text.slice(0, at).trim();
    const value = body === "" ? {} : (xmlArguments(body, tool) ?? wholeJson(body));
    if (value === undefined || (body === "" && properties.length > 0)) return { is: "text", length: 0 };
    return { is: "calls", length: at + close.length, calls: [{ asked: tag, tool, arguments: value }], explicit: true };
  };
}

/** A model family's own tokens; `text` follows the first of them. */
export function tokenReader(names: ToolNames): WholeReader {
  return (text, end) => {
    const ended = tokenBlockLength(text);
    if (ended === -1 && end === undefined) return "more";
    const length = ended === -1 ? text.length : ended;
    const calls = readTokenCalls(text.slice(0, length), names);
    return calls === undefined
      ? { is: "broken", length, explicit: true }
      : { is: "calls", length, calls, explicit: true };
  };
}

/** JSON that fills whole lines, without any tag. */
export function bareJsonReader(names: ToolNames): WholeReader {
  return (text, end) => {
    const maybe = mayBeCall(text, names);
    if (maybe === "no" || (maybe === "unknown" && end !== undefined)) return { is: "text", length: 1 };
    const close = closingBracket(text, 0);
    if (close === -1 && end === undefined) return "more";
    const length = close === -1 ? text.length : close;
    const json = maybe === "yes" && end !== "length" ? wholeJson(text.slice(0, length).trim()) : undefined;
    return jsonVerdict(json, length, names);
  };
}

function jsonVerdict(json: unknown, length: number, names: ToolNames): BlockReading {
  const calls = json === undefined ? undefined : readCalls(JSON.stringify(json), names);
  if (calls === undefined || calls.some(({ tool }) => tool === undefined)) return { is: "text", length };
  return { is: "calls", length, calls, explicit: false };
}

/** `Action: bash` and `Action Input: {…}` on the next line. */
export function actionReader(names: ToolNames): WholeReader {
  return (text, end) => {
    const match = /^Action\s*:\s*`?([\w.:/-]+)`?\s*\n\s*Action[ _]Input\s*:\s*/i.exec(text);
    if (match === null) {
      const may = /^A(?:c(?:t(?:i(?:o(?:n(?:\s*(?::[^\n]*(?:\n[^\n]*)?)?)?)?)?)?)?)?$/i.test(text) && text.length < 400;
      return may && end === undefined ? "more" : { is: "text", length: 1 };
    }
    const rest = text.slice(match[0].length);
    const close = /^[[{]/.test(rest) ? closingBracket(rest, 0) : rest.indexOf("\n");
    if (close === -1 && end === undefined) return "more";
    const length = match[0].length + (close === -1 ? rest.length : close);
    const calls = readCalls(`${match[1]}${unfenced(text.slice(match[0].length, length))}`, names);
    if (calls === undefined || calls.some(({ tool }) => tool === undefined)) return { is: "text", length: 1 };
    return { is: "calls", length, calls, explicit: true };
  };
}

/**
 * A named tag that shares its line with other text (`text <tool_call …>…</tool_call>`): a call if the line ends after the
 * closing tag, a mention otherwise. `text` follows the opening tag.
 */
export function inlineReader(tag: string, tool: ShownTool, names: ToolNames, atLineStart: boolean): WholeReader {
  const close = ownCloser(tag);
  return (text, end) => {
    if (!atLineStart && /^\s*[^{\s]/.test(text)) return { is: "text", length: 0 };
    const match = close.exec(text);
    if (match === null) return end === undefined ? "more" : { is: "text", length: 0 };
    const length = match.index + match[0].length;
    const after = /^[ \t]*/.exec(text.slice(length))?.[0].length ?? 0;
    const next = text.charAt(length + after);
    if (next === "" && end === undefined) return "more";
    if (next !== "" && !/[\r\n<]/.test(next)) return { is: "text", length: 0 };
    const value = readArguments(text.slice(0, match.index), tool, names);
    if (value === undefined) return { is: "broken", length, explicit: true };
    return { is: "calls", length, calls: [{ asked: tool.shownName, tool, arguments: value }], explicit: true };
  };
}
