import type { ShownTool, ToolNames } from "../names.ts";
import type { CallAttempt } from "./call-shapes.ts";
import { closingBracket } from "./loose-json.ts";
import { callsOf, spaceEnd, strayEnd, wholeJson } from "./read-calls.ts";
import { endOf, matchFrom, type Source } from "./source.ts";
import type { Tag } from "./tags.ts";

/** Everything that models write where a call should be closed. */
const anyCloser =
  /<\/\s{0,9}(?:[a-z]{1,20}:)?(?:tool[_-]?calls?|function_calls?|tool_use|use_tool|call_tool|invoke|function|call|tool|parameters?)(?:-[a-z2-9]{7})?\s{0,9}>|<\/>|<end_of_\w+>|\[\/?tool_calls?\]|<[|｜]tool[_▁]call[_▁]end[|｜]>|<tool_call>(?=\s*(?:$|<|[A-Za-z]))/iy;

/** The calls of a tag: its content, or its attributes if it has none. */
export function callsFromTag(
  tag: Tag,
  tool: ShownTool | undefined,
  body: string,
  names: ToolNames,
): readonly CallAttempt[] {
  const asked = tag.asked ?? "";
  const isEmpty = body.trim() === "" && tool?.tool.kind === "function";
  return isEmpty ? [attributeCall(tag, tool)] : callsOf(asked, tool, inner(body, tool), names);
}

/** A freeform tool's text begins and ends beside the tags' lines. */
function inner(body: string, tool: ShownTool | undefined): string {
  return tool?.tool.kind === "freeform" ? body.replace(/^[ \t]*\r?\n/, "").replace(/\r?\n$/, "") : body;
}

/** A call whose arguments stand in the attributes of its tag. */
export function attributeCall({ asked = "", attributes }: Tag, tool: ShownTool | undefined): CallAttempt {
  const { arguments: json, ...rest } = attributes;
  const value = json === undefined ? rest : wholeJson(json.replaceAll("&quot;", '"'));
  return { asked, tool, arguments: value, isRepaired: true };
}

/** The end of a tag's content, and the place after what closes it. */
export interface Extent {
  readonly to: number;
  readonly end: number;
  readonly isClosed: boolean;
}

/** What closes a tag: its closing tag, another one that models write there, or the end of its JSON. */
export function extentOf(source: Source, { end: from, name }: Pick<Tag, "end" | "name">, isFreeform: boolean): Extent {
  const { text } = source;
  let at = spaceEnd(text, from);
  const opener = isFreeform ? /(?!)/ : /[[{]/;
  while (opener.test(text.charAt(at))) {
    const close = closingBracket(text, at);
    if (close === -1) source.wait();
    if (close === -1) break;
    const next = strayEnd(text, close);
    const closer = matchFrom(anyCloser, text, next);
    if (closer !== null) return { to: close, end: next + closer[0].length, isClosed: true };
    const tail = text.slice(next, next + 40);
    if (tail.length < 40 && (tail === "" || (/^[<[]/.test(tail) && !tail.includes(">")))) source.wait();
    // surplus closing brackets belong to the call; the text after them does not
    if (text.charAt(next) !== "{")
      return { to: close, end: endOf(/(?:\s{0,9}[}\]);])*/y, text, close), isClosed: true };
    at = next;
  }
  const closer = matchFrom(ownCloser(name, isFreeform), text, from);
  if (closer !== null) return { to: closer.index, end: closer.index + closer[0].length, isClosed: true };
  source.wait();
  const last = isFreeform ? /<\/\s{0,9}tool_call(?:-[a-z2-9]{7})?>\s*$/i.exec(text.slice(-40)) : null;
  const to = last === null ? text.length : text.length - last[0].length;
  return { to, end: text.length, isClosed: last !== null };
}

function ownCloser(name: string, isFreeform: boolean): RegExp {
  const call = /^(?:tool|function)[-_]?calls?$/.test(name)
    ? "(?:tool|function)[-_]?calls?"
    : name.replace(/[.]/g, "\\.");
  const any = isFreeform ? `(?:${call}|function_calls?|invoke|tool_use)` : call;
  return new RegExp(
    `${isFreeform ? "\\r?\\n" : ""}<\\/\\s{0,9}(?:[a-z]{1,20}:)?${any}(?:-[a-z2-9]{7})?\\s{0,9}>`,
    "gi",
  );
}
