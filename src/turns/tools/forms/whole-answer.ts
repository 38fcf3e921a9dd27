import { isObject } from "../../../base/json.ts";
import type { AnswerPlan } from "../answer-plan.ts";
import type { ShownTool, ToolNames } from "../names.ts";
import { type CallAttempt, callsFromJson, findTool, mayBeCall, propertiesOf } from "./call-shapes.ts";
import { closingBracket } from "./loose-json.ts";
import { callsOf, jsonIn, readCalls, spaceEnd, unfenced, wholeJson, xmlArguments } from "./read-calls.ts";
import { callNames, closersEnd, mayOpenCall, type Tag, tagAt, wrapperNames } from "./tag.ts";
import { hasToken, tokenCalls } from "./tokens.ts";

/** What a whole answer means: calls, a text, or a summary of the conversation that nobody asked for. */
export type WholeAnswer =
  | { readonly calls: readonly CallAttempt[] }
  | { readonly said: string }
  | { readonly isSummary: true };

/** So much of an answer decides whether the whole may be a call. */
const looked = 4_096;

/** Whether an answer that begins so may be a call as a whole, in another form than the taught one. */
export function mayBeWhole(begun: string, plan: AnswerPlan): "yes" | "no" | "unknown" {
  const text = begun.slice(0, looked);
  const unknown = text.length < looked ? "unknown" : "no";
  const [lead = "", fence] = /^\s*((?:`{3,}|~{3,})[^\n`]{0,200}\n\s*)?/.exec(text) ?? [];
  const rest = text.slice(lead.length);
  if (rest === "" || (fence === undefined && /^(?:`{1,2}|~{1,2}|(?:`{3,}|~{3,})[^\n`]{0,200})$/.test(rest)))
    return unknown;
  if (plan.demanded !== undefined && /^[[{]/.test(rest)) return "yes";
  const token = hasToken(rest);
  if (token !== "no") return token === "yes" ? "yes" : unknown;
  if (/^[[{]/.test(rest)) {
    const may = mayBeCall(rest.slice(0, 256), plan.names);
    return may === "unknown" ? (rest.length < 256 ? unknown : "no") : may;
  }
  const [head, written = ""] = /^<\s{0,8}(?:[a-z]{1,20}:)?([\w.-]*)/i.exec(rest) ?? [];
  if (head === undefined) return "no";
  if (head.length === rest.length) return unknown;
  const isTaught = written === plan.tag && fence === undefined;
  return !isTaught && mayOpenCall(written, plan.names) ? "yes" : "no";
}

/** Reads an answer that is nothing but calls, white space and one fence around them apart; undefined for any other text. */
export function readWhole(answer: string, plan: AnswerPlan): WholeAnswer | undefined {
  const text = unfenced(answer.trim()).replace(/<\/\s{0,9}[\w.:-]*$/, ""); // a closing tag that was cut
  const { names, demanded } = plan;
  if (/^<summary>[^]*<\/summary>$/.test(text)) return { isSummary: true };
  const tagged = tokenCalls(text, names) ?? tagCalls(text, names);
  if (tagged !== undefined && tagged.length > 0) return { calls: tagged };
  const values = jsonIn(text)?.map(({ value }) => value);
  if (values === undefined) return undefined;
  const [only, ...more] = values;
  if (more.length === 0 && isObject(only) && only["action"] === "final" && typeof only["content"] === "string")
    return { said: only["content"] };
  const each = values.map((value) => callsFromJson(value, names));
  const calls = each.flatMap((one) => one ?? []);
  const areOffered = each.every((one) => one !== undefined) && calls.every(({ tool }) => tool !== undefined);
  if (areOffered) return { calls };
  const call = more.length === 0 && demanded !== undefined ? demandedCall(demanded, only) : undefined;
  return call === undefined ? undefined : { calls: [call] };
}

/** The call of the one tool that is demanded, where the answer is exactly its arguments. */
function demandedCall(tool: ShownTool, value: unknown): CallAttempt | undefined {
  if (tool.tool.kind !== "function") return undefined;
  const wrapped = tool.wrappedIn === undefined ? [] : [{ [tool.wrappedIn]: value }];
  const given = [value, ...wrapped].find((each) => isObject(each) && tool.check().misfits(each).length === 0);
  return given === undefined ? undefined : { asked: tool.shownName, tool, arguments: given };
}

/** The calls of a text that is nothing but tags of calls. */
function tagCalls(text: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const calls: CallAttempt[] = [];
  for (let at = 0; at < text.length; ) {
    const tag = tagAt(text, at);
    if (tag === undefined) return undefined;
    const isTool = names.byShownName(tag.written) !== undefined;
    const from = spaceEnd(text, tag.end);
    const inner = tagAt(text, from);
    const opensMore = inner !== undefined && (inner.asked !== undefined || callNames.has(inner.name));
    if (
      wrapperNames.has(tag.name) ||
      (callNames.has(tag.name) && tag.asked === undefined && (opensMore || from === text.length))
    ) {
      at = from;
      continue;
    }
    if (!isTool && !callNames.has(tag.name)) return undefined;
    const { body, end } = bodyOf(text, tag, tag.asked === undefined ? undefined : findTool(tag.asked, names));
    const found =
      tag.asked !== undefined
        ? callsFromTag({ ...tag, asked: tag.asked }, body, names)
        : isTool
          ? elementCalls(tag, body, names)
          : readCalls(body, names);
    if (found === undefined) return undefined;
    calls.push(...found);
    at = spaceEnd(text, closersEnd(text, end));
  }
  return calls;
}

/** What stands in a tag: JSON, as far as its brackets go, or all up to its closing tag. */
function bodyOf(text: string, tag: Tag, tool: ShownTool | undefined): { readonly body: string; readonly end: number } {
  const { end: from, written } = tag;
  if (tag.isSelfClosing) return { body: "", end: from };
  const isFreeform = tool?.tool.kind === "freeform";
  const bracket = isFreeform ? /(?!)/ : /[[{]/;
  let end = from;
  for (let at = spaceEnd(text, from); bracket.test(text.charAt(at)); at = spaceEnd(text, end)) {
    const to = closingBracket(text, at);
    if (to === -1) break;
    end = to;
  }
  const closer = new RegExp(`</\\s{0,8}(?:[a-z]{1,20}:)?${written.replaceAll(".", "\\.")}\\s{0,8}>`, "gi");
  if (end > from) {
    const own = text.slice(end, end + 200).match(closer)?.[0];
    const isNext =
      own !== undefined &&
      text
        .slice(end, end + 200)
        .trimStart()
        .startsWith(own);
    return { body: text.slice(from, end), end: isNext ? text.indexOf(own, end) + own.length : end };
  }
  const closers = [...text.slice(from).matchAll(closer)];
  const found = isFreeform ? closers.at(-1) : closers[0];
  if (found === undefined) return { body: text.slice(from), end: text.length };
  return { body: text.slice(from, from + found.index), end: from + found.index + found[0].length };
}

/** The calls of a tag that names its tool: its content, or its attributes if it has none. */
export function callsFromTag(
  tag: Tag & { readonly asked: string },
  body: string,
  names: ToolNames,
): readonly CallAttempt[] {
  const { asked, attributes } = tag;
  const tool = findTool(asked, names);
  const isFreeform = tool?.tool.kind === "freeform";
  // a freeform tool's text begins and ends beside the tags' lines
  if (isFreeform) return callsOf(asked, body.replace(/^[ \t]*\r?\n/, "").replace(/\r?\n[ \t]*$/, ""), names);
  if (body.trim() !== "" || tool === undefined) return callsOf(asked, body, names);
  const json = attributes.get("arguments");
  const own = [...attributes].filter(([key]) => !["id", "call", "type"].includes(key));
  const value = json === undefined ? Object.fromEntries(own) : wholeJson(json.replaceAll("&quot;", '"'));
  return [{ asked, tool, arguments: value }];
}

/** `<bash><command>ls</command></bash>`: text, unless it is all arguments of that tool. */
function elementCalls({ written }: Tag, body: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const tool = names.byShownName(written);
  if (tool === undefined || tool.tool.kind === "freeform") return undefined;
  const keys = Object.keys(propertiesOf(tool));
  const text = body.trim();
  const value = text === "" && keys.length === 0 ? {} : (xmlArguments(text) ?? wholeJson(text));
  const isFitting = isObject(value) && Object.keys(value).every((key) => keys.includes(key));
  return isFitting ? [{ asked: written, tool, arguments: value }] : undefined;
}
