import type { ToolNames } from "../names.ts";
import { mayBeCall } from "./call-shapes.ts";
import { readEnvelope } from "./envelope.ts";
import { readCalls, wholeJson } from "./foreign-forms.ts";
import { readOpener } from "./openers.ts";
import type { WholeReader } from "./whole-blocks.ts";

/** The first line of a fenced block. `length` includes its line break. */
export interface FenceLine {
  readonly marker: string;
  readonly info: string;
  readonly length: number;
}

/** Reads a fence's first line at the start of `text`. "more" until its line is whole; undefined if it is none. */
export function readFenceLine(text: string): FenceLine | "more" | undefined {
  const match = /^(`{3,}|~{3,})([^\n`]*)\n/.exec(text);
  if (match !== null) return { marker: match[1] ?? "", info: (match[2] ?? "").trim(), length: match[0].length };
  return /^(?:`{1,2}|~{1,2}|(?:`{3,}|~{3,})[^\n`]{0,200})$/.test(text) ? "more" : undefined;
}

/** Whether a line closes a fence that was opened with `marker`. */
export function closesFence(line: string, marker: string): boolean {
  const trimmed = line.trim();
  return trimmed.length >= marker.length && trimmed === marker.charAt(0).repeat(trimmed.length);
}

/** Fences whose info string announces a call, not data. */
const callInfo = /^(?:tool_calls?|tool_code|tool_use|function_calls?|tool|function|call)\b/i;

/**
 * Reads a fenced block that may hold only calls; `text` follows its first line. The block becomes text as soon as it cannot be a call
 * any more, so ordinary code streams on. `first`: it begins the answer, so it may also be the answer in an envelope.
 */
export function fenceReader(fence: FenceLine, names: ToolNames, first = false): WholeReader {
  const named = /^(?:tool_call|function_call|tool|call)[\s:]+(?:name\s*=\s*)?["']?([\w.:/-]+)["']?$/i.exec(
    fence.info,
  )?.[1];
  return (text, end) => {
    if (named === undefined && !mayHoldCalls(text, fence.info, names)) return { is: "text", length: 0 };
    for (const closing of closingLines(text, fence.marker, end !== undefined)) {
      const content = text.slice(0, closing.start).trim();
      const body = named === undefined ? content : `${named}${content === "" ? "{}" : content}`;
      const final = first && named === undefined ? readEnvelope(wholeJson(content), names) : undefined;
      if (final?.holds === "text" && text.slice(closing.end).trim() === "")
        return end === undefined ? "more" : { is: "said", length: text.length, text: final.text };
      const calls = readCalls(body, names);
      const explicit = callInfo.test(fence.info);
      if (calls !== undefined && calls.every(({ tool }) => tool !== undefined)) {
        return { is: "calls", length: closing.end, calls, explicit };
      }
      const attempted = content.startsWith("<") || named !== undefined;
      if (end === "stop" && attempted && closing.end >= text.trimEnd().length)
        return { is: "broken", length: closing.end, explicit };
      if (calls !== undefined || (wholeJson(content) !== undefined && !attempted)) return { is: "text", length: 0 };
    }
    return end === undefined ? "more" : { is: "text", length: 0 };
  };
}

/** Every place where the fence may close: JSON that holds fences itself is whole only at a later one. */
function* closingLines(
  text: string,
  marker: string,
  atEnd: boolean,
): Generator<{ readonly start: number; readonly end: number }> {
  let start = 0;
  while (start <= text.length) {
    const newline = text.indexOf("\n", start);
    const lineEnd = newline === -1 ? text.length : newline;
    const whole = newline !== -1 || atEnd;
    if (whole && closesFence(text.slice(start, lineEnd), marker)) yield { start, end: lineEnd };
    if (newline === -1) break;
    start = newline + 1;
  }
  if (atEnd) yield { start: text.length, end: text.length };
}

function mayHoldCalls(text: string, info: string, names: ToolNames): boolean {
  const content = text.trimStart();
  if (content === "") return true;
  if (content.startsWith("{") || content.startsWith("[")) {
    if (mayBeCall(content, names) !== "no") return true;
    return callInfo.test(info) && content.startsWith("[");
  }
  if (content.startsWith("<")) {
    const opener = readOpener(content, names);
    return (
      opener === "more" ||
      (opener !== undefined &&
        /^(?:named|nameless|element|tokens)$/.test(opener.kind) &&
        !("tool" in opener && opener.tool === undefined))
    );
  }
  if (!callInfo.test(info)) return false;
  const word = /^[\w.]+/.exec(content)?.[0];
  return word !== undefined && /^[\w.]+(?:$|\s*[({])/.test(content);
}
