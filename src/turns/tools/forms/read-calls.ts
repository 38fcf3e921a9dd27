import { isObject } from "../../../base/json.ts";
import { onlyText, parsedJson } from "../arguments/json.ts";
import type { ShownTool, ToolNames } from "../names.ts";
import { type CallAttempt, callsFromJson, findTool } from "./call-shapes.ts";
import { closingBracket, parseLooseJson } from "./loose-json.ts";
import { endOf, matchFrom } from "./source.ts";
import { plainTokens } from "./tags.ts";

/**
 * The arguments between a call's tags, in other forms than one strict JSON object: fenced or loose JSON, JSON that repeats the
 * name, XML parameters, key and value tags, or bare text for a tool with one string. Undefined if no reading keeps everything.
 */
export function readArguments(body: string, tool: ShownTool, names: ToolNames): unknown {
  const text = unfenced(body.trim());
  if (text === "") return tool.tool.kind === "freeform" ? undefined : {};
  if (tool.tool.kind === "freeform") return onlyText(wholeJson(text)) ?? (text === body.trim() ? body : text);
  const json = wholeJson(text) ?? quotedJson(text);
  if (json !== undefined) return unwrapped(json, tool, names);
  return xmlArguments(text, tool) ?? onlyString(text, tool);
}

/** All calls in text that names its tools itself (`{"name": …}`, `name(args)`, `name{…}`). Undefined when there are none. */
export function readCalls(body: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const text = unfenced(body.trim());
  const json = wholeJson(text);
  if (json !== undefined) return callsFromJson(json, names);
  return jsonSequence(text, names) ?? namedElement(text, names) ?? namedJson(text, names) ?? pythonCalls(text, names);
}

/** The calls of a tag that names its tool: one, or one an object if several stand between the tags. */
export function callsOf(
  asked: string,
  tool: ShownTool | undefined,
  body: string,
  names: ToolNames,
): readonly CallAttempt[] {
  if (tool === undefined) return [{ asked, tool, arguments: undefined, source: body }];
  if (tool.tool.kind === "freeform") {
    const value = readArguments(body, tool, names);
    const problem = value === undefined ? { problem: "there is nothing between the tags" } : {};
    return [{ asked, tool, source: body.trim(), arguments: value, isRepaired: value !== body, ...problem }];
  }
  const pieces = objectsIn(body);
  const isRepaired = pieces[0]?.trim() !== body.trim();
  return pieces.map((piece): CallAttempt => {
    const value = readArguments(piece, tool, names);
    const call = { asked, tool, source: piece.trim(), arguments: value };
    return value === undefined
      ? { ...call, problem: `what stands between the tags is no JSON object: ${excerpt(piece)}` }
      : { ...call, raw: call.source, isRepaired };
  });
}

/** The objects of a body that holds several; the whole body otherwise. */
function objectsIn(body: string): readonly string[] {
  const pieces: string[] = [];
  let at = body.length - body.trimStart().length;
  while (body.charAt(at) === "{") {
    const end = closingBracket(body, at);
    if (end === -1) return [body];
    pieces.push(body.slice(at, end));
    at = strayEnd(body, end);
  }
  return at >= body.length && pieces.length > 0 ? pieces : [body];
}

/** The place after the surplus brackets, separators and white space at `at`. */
export function strayEnd(text: string, at: number): number {
  return endOf(/[\s}\])`,;]*/y, text, at);
}

export function excerpt(text: string): string {
  const shown = text.trim();
  return JSON.stringify(shown.length > 120 ? `${shown.slice(0, 60)} … ${shown.slice(-50)}` : shown);
}

/** JSON that is the whole text: strict, or loose with only stray closers after it. */
export function wholeJson(text: string): unknown {
  if (!/^[[{]/.test(text)) return undefined;
  const exact = parsedJson(text);
  const loose = exact === undefined ? parseLooseJson(text, 0, true) : undefined;
  if (loose === undefined) return exact;
  return strayEnd(text, loose.end) >= text.length ? loose.value : undefined;
}

/** JSON inside a JSON string; null for no arguments. */
function quotedJson(text: string): unknown {
  if (text === "null") return null;
  if (!text.startsWith('"')) return undefined;
  const quoted = parseLooseJson(text);
  return typeof quoted?.value === "string" && quoted.end === text.length ? wholeJson(quoted.value.trim()) : undefined;
}

/** The content of a fence, if the whole text is one; its closing line may be missing. */
function unfenced(text: string): string {
  const marker = /^(?:`{3,}|~{3,})/.exec(text)?.[0];
  const from = text.indexOf("\n") + 1;
  if (marker === undefined || from === 0 || text.slice(marker.length, from).includes("`")) return text;
  const inner = text.slice(from).trimEnd();
  return inner.endsWith(marker) ? inner.slice(0, -marker.length).trim() : inner;
}

/** `{"name": "bash", "arguments": {…}}` or `{"arguments": {…}}` inside a tag that already names the tool. */
function unwrapped(json: unknown, tool: ShownTool, names: ToolNames): unknown {
  if (!isObject(json)) return json;
  const own = propertiesOf(tool);
  if (Object.keys(json).every((key) => Object.hasOwn(own, key))) return json;
  const calls = callsFromJson(json, names);
  if (calls?.length === 1 && calls[0]?.tool === tool) return calls[0].arguments;
  const [entry, ...more] = Object.entries(json);
  const wrapper =
    entry !== undefined && more.length === 0 && /^(?:arguments|args|parameters|params|input)$/.test(entry[0]);
  return wrapper && isObject(entry[1]) ? entry[1] : json;
}

function propertiesOf({ shownParameters: { properties } }: ShownTool): Readonly<Record<string, unknown>> {
  return isObject(properties) ? properties : {};
}

/** Values of XML are text; they are read as JSON where the schema wants something else than a string. */
function typedText(text: string, key: string, tool: ShownTool): unknown {
  const schema = propertiesOf(tool)[key];
  const type = isObject(schema) ? schema["type"] : undefined;
  const value = text.replace(/^\n|\n$/g, "");
  if (type === "string" || type === undefined) return value;
  const json = parsedJson(value);
  return json === undefined ? value : json; // the schema check decides
}

/** Elements of arguments: their name stands in the tag, after an equals sign, or in an attribute. */
const element =
  /<([a-z]{1,20}:)?(?:(parameter|arg|argument|param)\s{1,20}(?:name|key)\s{0,20}=\s{0,20}["']?([\w.-]+)["']?[^<>]*|(parameter)\s{0,20}=\s{0,20}["']?([\w.-]+)["']?|([A-Za-z_][\w.-]*))>/y;

/** Arguments as XML elements; undefined unless they are all that stands there. */
export function xmlArguments(text: string, tool: ShownTool): Readonly<Record<string, unknown>> | undefined {
  if (!text.startsWith("<")) return undefined;
  const wrapper = /^<(arguments|parameters|args|input)>/.exec(text);
  if (wrapper !== null && text.endsWith(`</${wrapper[1]}>`)) {
    const inner = text.slice(wrapper[0].length, -wrapper[0].length - 1).trim();
    const json = wholeJson(inner);
    return isObject(json) ? json : xmlArguments(inner, tool);
  }
  const pairs: [string, unknown][] = [];
  let key: string | undefined;
  let at = 0;
  while (at < text.length) {
    const match = matchFrom(element, text, at);
    if (match === null) return undefined;
    const tag = match[2] ?? match[4] ?? match[6] ?? "";
    const closer = `</${match[1] ?? ""}${tag}>`;
    const from = at + match[0].length;
    const to = text.indexOf(closer, from);
    if (to === -1) return undefined;
    const body = text.slice(from, to);
    at = spaceEnd(text, to + closer.length);
    if (tag === "arg_key") key = body.trim();
    else {
      const name = tag === "arg_value" ? key : (match[3] ?? match[5] ?? tag);
      if (name === undefined) return undefined;
      pairs.push([name, typedText(body, name, tool)]);
    }
  }
  return pairs.length > 0 ? Object.fromEntries(pairs) : undefined;
}

/** The place after the white space at `at`. */
export function spaceEnd(text: string, at: number): number {
  return endOf(/\s*/y, text, at);
}

/** Bare text for a tool whose one member is a string. */
function onlyString(text: string, tool: ShownTool): unknown {
  const [only, ...more] = Object.entries(propertiesOf(tool));
  if (only === undefined || more.length > 0 || !isObject(only[1]) || only[1]["type"] !== "string") return undefined;
  return /^["'{[<]/.test(text) ? undefined : { [only[0]]: text };
}

/** Several JSON objects one after the other, with or without commas. */
function jsonSequence(text: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const calls: CallAttempt[] = [];
  for (let at = 0; at < text.length; ) {
    const item = text.charAt(at) === "{" ? parseLooseJson(text, at) : undefined;
    const found = item === undefined ? undefined : callsFromJson(item.value, names);
    if (item === undefined || found === undefined) return undefined;
    calls.push(...found);
    at = strayEnd(text, item.end);
  }
  return calls.length > 0 ? calls : undefined;
}

/** `<name>bash</name>` and the arguments after it. */
function namedElement(text: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const match = /^<(name|tool_name|tool|function)>\s*([\w.:/-]+)\s*<\/\1>/.exec(text);
  return match === null ? undefined : [attempt(match[2] ?? "", text.slice(match[0].length), names)];
}

/** `bash{"command": "ls"}`, `bash\n{…}`, `bash` and key/value tags. */
function namedJson(text: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const match = /^([A-Za-z_][\w.:/-]*)\s*(?=[{<`])/.exec(text);
  return match === null ? undefined : [attempt(match[1] ?? "", text.slice(match[0].length), names)];
}

function attempt(asked: string, body: string, names: ToolNames): CallAttempt {
  const tool = findTool(asked, names);
  return { asked, tool, arguments: tool === undefined ? undefined : (readArguments(body, tool, names) ?? body) };
}

/** Python calls with keyword arguments, one a line, also inside `print(…)` or a list: Gemini's and Llama's way. */
function pythonCalls(text: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const calls: CallAttempt[] = [];
  let rest = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1).trim() : text;
  while (rest !== "") {
    const [head = "", printed, asked = ""] = /^(print\(\s*)?([A-Za-z_][\w.]*)(?=\()/.exec(rest) ?? [];
    const tool = findTool(asked, names);
    const given = tool === undefined ? undefined : parseLooseJson(rest, head.length);
    if (given === undefined) return undefined;
    calls.push({ asked, tool, arguments: given.value });
    rest = rest.slice(given.end).replace(printed === undefined ? /^[\s,;]*/ : /^\s*\)?[\s,;]*/, "");
  }
  return calls.length > 0 ? calls : undefined;
}

/** Where a model's own block of calls ends. */
const blockEnd =
  /<\|tool_calls_section_end\|>|<\|tool_calls_end\|>|<\|call\|>|<\|eo[mt]_id\|>|<\|\/tool_call\|>|\[\/TOOL_CALLS?\]/g;

/** The end of a block of control tokens that begins at `from`, or -1 if the block is not complete. */
export function tokenBlockEnd(text: string, from: number): number {
  const match = matchFrom(blockEnd, plainTokens(text), from);
  return match === null ? -1 : match.index + match[0].length;
}

/**
 * Calls written in a model family's control tokens (Kimi, DeepSeek, Harmony, Llama, Mistral), up to the end of their
 * block. Undefined when they cannot be read.
 */
export function readTokenCalls(block: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const text = plainTokens(block).replace(blockEnd, "").trim();
  const channels = text.split("<|message|>");
  if (channels.length > 1) {
    const calls = channels.slice(1).flatMap((part, i) => {
      const to = channels[i]?.lastIndexOf("to=") ?? -1;
      const asked = /^[\w.:/-]+/.exec(channels[i]?.slice(to + 3, to + 200) ?? "")?.[0];
      return to === -1 || asked === undefined ? [] : [attempt(asked, part.split("<|")[0] ?? "", names)];
    });
    return calls.length > 0 ? calls : undefined;
  }
  const pieces = text
    .split(/<\|tool_call_begin\|>|<\|tool_call_end\|>|<\|tool_calls?(?:_section)?_begin\|>/)
    .filter((piece) => piece.trim() !== "");
  const calls = pieces.map((piece) => readPiece(piece.trim(), names));
  return calls.length > 0 && calls.every((found) => found !== undefined) ? calls.flat() : undefined;
}

function readPiece(piece: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const [head = "", ...rest] = piece.split(/<\|tool_sep\|>|<\|tool_call_argument_begin\|>/);
  if (rest.length === 0) return readCalls(piece.replace(".call(", "("), names);
  const body = rest.join("");
  if (head.trim() !== "function") return [attempt(head.trim(), body, names)];
  const named = /^\s*([\w.:/-]+)\s*/.exec(body);
  return named === null ? undefined : [attempt(named[1] ?? "", body.slice(named[0].length), names)];
}
