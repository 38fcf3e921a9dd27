import type { ShownTool, ToolNames } from "../names.ts";
import type { CallAttempt } from "./call-shapes.ts";
import { closingBracket } from "./loose-json.ts";
import { endOf, matchFrom, spaceEnd, strayEnd } from "./places.ts";
import { callsOf, wholeJson } from "./read-calls.ts";
import type { NamingTag, Tag } from "./tags.ts";

/** Everything that models write where a call should be closed. */
const anyCloser =
  /<\/\s{0,9}(?:[a-z]{1,20}:)?(?:tool[_-]?calls?|function_calls?|tool_use|use_tool|call_tool|invoke|function|call|tool|parameters?)(?:-[a-z2-9]{7})?\s{0,9}>|<\/>|<end_of_\w+>|\[\/?tool_calls?\]|<[|｜]tool[_▁]call[_▁]end[|｜]>|<tool_call>(?=\s*(?:$|<|[A-Za-z]))/iy;

/** The calls of a tag: its content, or its attributes if it has none. */
export function callsFromTag(
  tag: NamingTag,
  tool: ShownTool | undefined,
  body: string,
  names: ToolNames,
): readonly CallAttempt[] {
  const isFreeform = tool?.tool.kind === "freeform";
  if (body.trim() === "" && tool !== undefined && !isFreeform) return [attributeCall(tag, tool)];
  // a freeform tool's text begins and ends beside the tags' lines
  const content = isFreeform ? body.replace(/^[ \t]*\r?\n/, "").replace(/\r?\n$/, "") : body;
  return callsOf(tag.asked, content, names);
}

/** A call whose arguments stand in the attributes of its tag. */
export function attributeCall({ asked, attributes }: NamingTag, tool: ShownTool | undefined): CallAttempt {
  const json = attributes.get("arguments");
  const own = [...attributes].filter(([key]) => !["id", "call", "type"].includes(key));
  const value = json === undefined ? Object.fromEntries(own) : wholeJson(json.replaceAll("&quot;", '"'));
  return { asked, tool, arguments: value, isRepaired: true };
}

/** What closes a tag: its closing tag, another one that models write there, or the end of its JSON. `isOver`: no text follows. */
export function extentOf(
  text: string,
  { end: from, name }: Tag,
  { tool, isOver }: { readonly tool: ShownTool | undefined; readonly isOver: boolean },
): {
  readonly to: number;
  readonly closed: number;
  readonly isClosed: boolean;
} {
  const isFreeform = tool?.tool.kind === "freeform";
  const open = { to: text.length, closed: text.length, isClosed: false };
  const bracket = isFreeform ? /(?!)/ : /[[{]/;
  for (let at = spaceEnd(text, from); bracket.test(text.charAt(at)); ) {
    const to = closingBracket(text, at);
    if (to === -1 && !isOver) return open;
    if (to === -1) break;
    at = strayEnd(text, to);
    if (!isOver && /^(?:[<[][^>]{0,40})?$/.test(text.slice(at))) return open;
    const closer = matchFrom(anyCloser, text, at);
    if (closer !== null) return { to, closed: at + closer[0].length, isClosed: true };
    // surplus closing brackets belong to the call; the text after them does not
    if (text.charAt(at) !== "{") return { to, closed: endOf(/(?:\s{0,9}[}\]);])*/y, text, to), isClosed: true };
  }
  const call = /^(?:tool|function)[-_]?calls?$/.test(name) ? "(?:tool|function)[-_]?calls?" : name;
  const any = isFreeform ? `(?:${call}|function_calls?|invoke|tool_use)` : call;
  const written = `</\\s{0,9}(?:[a-z]{1,20}:)?${any}(?:-[a-z2-9]{7})?\\s{0,9}>`;
  const ownCloser = new RegExp(isFreeform ? `^${written}|${written}(?!\\s*\\S)` : written, "gim");
  const closer = matchFrom(ownCloser, text, from);
  if (closer === null) return open;
  return { to: closer.index, closed: closer.index + closer[0].length, isClosed: true };
}
