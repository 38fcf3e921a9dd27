import { isObject, writeJson } from "../../../base/json.ts";
import { wrapperNames } from "../arguments/check-arguments.ts";
import { onlyText, parsedJson } from "../arguments/json.ts";
import type { ShownTool, ToolNames } from "../names.ts";
import { type CallAttempt, callsFromJson, findTool, propertiesOf } from "./call-shapes.ts";
import { parseLooseJson } from "./loose-json.ts";

/** All calls in text that names its tools itself (`{"name": …}`, `name{…}`). Undefined when there are none. */
export function readCalls(body: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const text = unfenced(body.trim());
  const values = jsonIn(text);
  if (values === undefined) return namedCalls(text, names);
  const calls = values.map(({ value }) => callsFromJson(value, names));
  return calls.every((each) => each !== undefined) ? calls.flat() : undefined;
}

/** The calls of a tag that names its tool: one, or one an object if several stand between the tags. */
export function callsOf(asked: string, body: string, names: ToolNames): readonly CallAttempt[] {
  const tool = findTool(asked, names);
  if (tool === undefined) return [{ asked, tool, arguments: undefined }];
  if (tool.tool.kind === "freeform") {
    const value = freeformText(body);
    const problem = value.trim() === "" ? { problem: "there is nothing between the tags" } : {};
    return [{ asked, tool, arguments: value, ...problem }];
  }
  const whole = body.trim();
  const pieces = jsonIn(whole)?.map(({ text }) => text) ?? [whole];
  return pieces.map((raw): CallAttempt => {
    const value = readArguments(raw, tool, names);
    const call = { asked, tool, arguments: value, raw };
    return value === undefined
      ? { ...call, problem: `what stands between the tags is no JSON object: ${excerpt(raw)}` }
      : call;
  });
}

function excerpt(text: string): string {
  return writeJson(text.length > 120 ? `${text.slice(0, 60)} … ${text.slice(-50)}` : text);
}

/** A freeform tool's text: as it stands, or what a fence or an object around it holds. */
function freeformText(body: string): string {
  const text = unfenced(body.trim());
  return onlyText(wholeJson(text)) ?? (text === body.trim() ? body : text);
}

/**
 * The arguments between a call's tags, in other forms than one strict JSON object: fenced or loose JSON, JSON that repeats the
 * name, XML parameters, key and value tags, or bare text for a tool with one string. Undefined if no reading keeps everything.
 */
function readArguments(body: string, tool: ShownTool, names: ToolNames): unknown {
  const text = unfenced(body.trim());
  if (text === "") return {};
  if (/^(?:null$|")/.test(text)) return parsedJson(text); // nothing, or an object written as a string
  const read = wholeJson(text) ?? xmlArguments(text) ?? onlyString(text, tool);
  return isObject(read) ? unwrapped(read, tool, names) : read;
}

/** JSON that is the whole text: strict, or loose with only stray closers after it. */
export function wholeJson(text: string): unknown {
  const [only, ...more] = jsonIn(text) ?? [];
  return more.length === 0 ? only?.value : undefined;
}

/** The objects and lists that are the whole text, with nothing but separators and stray closers after each. */
export function jsonIn(text: string): readonly { readonly value: unknown; readonly text: string }[] | undefined {
  const values: { value: unknown; text: string }[] = [];
  for (let at = 0; at < text.length; ) {
    const read = /[[{]/.test(text.charAt(at)) ? parseLooseJson(text, at, true) : undefined;
    if (read === undefined) return undefined;
    values.push({ value: read.value, text: text.slice(at, read.end) });
    at = endOf(/[\s}\])`,;]*/y, text, read.end);
  }
  return values.length > 0 ? values : undefined;
}

/** The content of a fence, if the whole text is one; its closing line may be missing. */
export function unfenced(text: string): string {
  const [head, marker = ""] = /^(`{3,}|~{3,})[^`\n]*\n/.exec(text) ?? [];
  if (head === undefined) return text;
  const inner = text.slice(head.length).trimEnd();
  return inner.endsWith(marker) ? inner.slice(0, -marker.length).trim() : inner;
}

/** `{"name": "bash", "arguments": {…}}` or `{"arguments": {…}}` inside a tag that already names the tool. */
function unwrapped(read: Readonly<Record<string, unknown>>, tool: ShownTool, names: ToolNames): unknown {
  const own = propertiesOf(tool);
  if (Object.keys(read).every((key) => Object.hasOwn(own, key))) return read;
  const calls = callsFromJson(read, names);
  if (calls?.length === 1 && calls[0]?.tool === tool) return calls[0].arguments;
  const [[key, value] = ["", undefined], ...more] = Object.entries(read);
  const isElement = typeof value === "string" && /^\s*[{<]/.test(value); // an object under such a name is left to the check
  if (more.length > 0 || !isElement || !wrapperNames.has(key)) return read;
  const inner = readArguments(value, tool, names);
  return isObject(inner) ? inner : read;
}

/** Elements of arguments: their name stands in the tag, after an equals sign, or in an attribute. */
const element =
  /<([a-z]{1,20}:)?(?:(parameter|arg|argument|param)\s{1,20}(?:name|key)\s{0,20}=\s{0,20}["']?([\w.-]+)["']?[^<>]*|(parameter)\s{0,20}=\s{0,20}["']?([\w.-]+)["']?|([A-Za-z_][\w.-]*))>/y;

/** Arguments as XML elements; undefined unless they are all that stands there. */
export function xmlArguments(text: string): Readonly<Record<string, unknown>> | undefined {
  const pairs: [string, unknown][] = [];
  let key: string | undefined;
  for (let at = 0; at < text.length; ) {
    element.lastIndex = at;
    const match = element.exec(text);
    if (match === null) return undefined;
    const [whole, namespace = "", withName, name, withEquals, equals, plain = ""] = match;
    const tag = withName ?? withEquals ?? plain;
    const closer = `</${namespace}${tag}>`;
    const to = text.indexOf(closer, at + whole.length);
    if (to === -1) return undefined;
    const body = text.slice(at + whole.length, to);
    at = spaceEnd(text, to + closer.length);
    if (tag === "arg_key") key = body.trim();
    else {
      const member = tag === "arg_value" ? key : (name ?? equals ?? tag);
      if (member === undefined) return undefined;
      pairs.push([member, body.replace(/^\n|\n$/g, "")]); // the check makes of a text what the schema wants
    }
  }
  return pairs.length > 0 ? Object.fromEntries(pairs) : undefined;
}

/** Bare text for a tool whose one member is a string. */
function onlyString(text: string, tool: ShownTool): unknown {
  const [only, ...more] = Object.entries(propertiesOf(tool));
  if (only === undefined || more.length > 0 || !isObject(only[1]) || only[1]["type"] !== "string") return undefined;
  return /^["'{[<]/.test(text) ? undefined : { [only[0]]: text };
}

/** `bash{"command": "ls"}`, `bash\n{…}`, `bash` and key/value tags, or `<name>bash</name>` and the arguments after it. */
function namedCalls(text: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const named = /^(?:<(name|tool_name|tool|function)>\s*([\w.:/-]+)\s*<\/\1>|([A-Za-z_][\w.:/-]*)\s*(?=[{<`]))/.exec(
    text,
  );
  if (named === null) return undefined;
  return callsOf(named[2] ?? named[3] ?? "", text.slice(named[0].length), names);
}

/** The place after the white space at `at`. */
export function spaceEnd(text: string, at: number): number {
  return endOf(/\s*/y, text, at);
}

function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(text)?.[0].length ?? 0);
}
