import type { ToolNames } from "../names.ts";

/** An opening tag, read from a model's text. */
export interface Tag {
  /** In lower case, without a namespace and without the mark of a turn. */
  readonly name: string;
  /** As it stands there. */
  readonly written: string;
  /** The tool that it names, in an attribute or after an equals sign. */
  readonly asked: string | undefined;
  readonly attributes: ReadonlyMap<string, string>;
  readonly isSelfClosing: boolean;
  /** The place after it. */
  readonly end: number;
}

/** How much of a tag is looked at. */
export const tagWindow = 4_096;

const mark = /-(?:[a-z2-9]{7}|\d{1,3})$/;
const start = /<\s{0,8}(?:[a-z]{1,20}:)?([\w.-]+)(?:\s{0,8}=\s{0,8}["']?([\w.:/-]+)["']?)?/iy;
const attribute = /\s*([\w:.-]+)\s{0,8}=\s{0,8}(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+?(?=\/?>|\s)))/y;
const close = /\s*(\/?)>/y;

/** The opening tag at a place; undefined where none is whole. */
export function tagAt(text: string, at: number): Tag | undefined {
  const window = text.slice(at, at + tagWindow);
  const head = from(start, window, 0);
  if (head === null) return undefined;
  const [{ length }, written = "", equals] = head;
  const attributes = new Map<string, string>();
  let place = length;
  for (let pair = from(attribute, window, place); pair !== null; pair = from(attribute, window, place)) {
    attributes.set(pair[1] ?? "", pair[2] ?? pair[3] ?? pair[4] ?? "");
    place += pair[0].length;
  }
  const end = from(close, window, place);
  if (end === null) return undefined;
  const nameKey = [...attributes.keys()].find((key) => /^(?:name|tool|tool_name|function)$/i.test(key)) ?? "";
  const asked = equals ?? attributes.get(nameKey);
  attributes.delete(nameKey);
  const name = written.toLowerCase().replace(mark, "");
  return { name, written, asked, attributes, isSelfClosing: end[1] === "/", end: at + place + end[0].length };
}

/** What a sticky pattern finds at a place. */
function from(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

const words = (list: string) => new Set(list.split(" "));
/** Tags of a call, and of one that they have to name. */
export const callNames = words(
  "tool_call tool-call toolcall function_call tool_use invoke use_tool call_tool function tool call",
);
export const wrapperNames = words("tool_calls function_calls tool_uses");
/** Parts of the prompt, which models close after a call without having opened them. */
const frameNames = words("message conversation assistant parameter parameters");

/** Whether a name of a tag begins a call of a form that models know. */
export function mayOpenCall(written: string, names: ToolNames): boolean {
  const name = written.toLowerCase().replace(mark, "");
  return (
    callNames.has(name) || wrapperNames.has(name) || name === "summary" || names.byShownName(written) !== undefined
  );
}

const closer = /<\/\s{0,8}(?:[a-z]{1,20}:)?([\w.-]*)\s{0,8}>/iy;

/** The place after a closing tag that models write after calls; `at` where none is there. */
export function closerEnd(text: string, at: number): number {
  const found = from(closer, text, at);
  if (found === null) return at;
  const name = (found[1] ?? "").toLowerCase().replace(mark, "");
  const isKnown = name === "" || [callNames, wrapperNames, frameNames].some((known) => known.has(name));
  return isKnown ? at + found[0].length : at;
}

/** The end of all that models write to close calls, from a place on: such tags, and brackets too many. */
export function closersEnd(text: string, at: number): number {
  for (let end = at; ; ) {
    const stray = end + (from(/[\s}\])`,;]*/y, text, end)?.[0].length ?? 0);
    const closed = closerEnd(text, stray);
    if (closed === stray) return /[}\])]/.test(text.slice(end, stray)) ? stray : end;
    end = closed;
  }
}
