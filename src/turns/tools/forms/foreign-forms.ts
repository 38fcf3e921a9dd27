import { isObject } from "../../../base/json.ts";
import type { ShownTool, ToolNames } from "../names.ts";
import { type CallAttempt, callsFromJson, findTool } from "./call-shapes.ts";
import { parseLooseJson } from "./loose-json.ts";

/**
 * The arguments between a call's tags, in other forms than one strict JSON object: fenced or loose JSON, JSON that repeats the
 * name, XML parameters, key and value tags, or bare text for a tool with one string. Undefined if no reading keeps everything.
 */
export function readArguments(body: string, tool: ShownTool, names: ToolNames): unknown {
  const text = unfenced(body.trim());
  if (text === "") return tool.tool.kind === "freeform" ? undefined : {};
  if (tool.tool.kind === "freeform") return freeformText(text) ?? unfencedFreeform(body);
  const json = wholeJson(text) ?? quotedJson(text);
  if (json !== undefined) return unwrapped(json, tool, names);
  return xmlArguments(text, tool) ?? onlyString(text, tool);
}

/** All calls in text that names its tools itself (`{"name": …}`, `<invoke name=…>`, `name(args)`, `name{…}`). Undefined when there are none. */
export function readCalls(body: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const text = unfenced(body.trim());
  const json = wholeJson(text);
  if (json !== undefined) return callsFromJson(json, names);
  return jsonSequence(text, names) ?? xmlCalls(text, names) ?? namedJson(text, names) ?? pythonCalls(text, names);
}

/** JSON that is the whole text: strict, or loose with only stray closers after it. */
export function wholeJson(text: string): unknown {
  if (!/^[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const loose = parseLooseJson(text, 0, true);
    if (loose === undefined) return undefined; // as not JSON
    return /^[\s}\];,`]*$/.test(text.slice(loose.end)) ? loose.value : undefined;
  }
}

/** JSON inside a JSON string; null for no arguments. */
function quotedJson(text: string): unknown {
  if (text === "null") return null;
  if (!text.startsWith('"')) return undefined;
  const quoted = parseLooseJson(text);
  return typeof quoted?.value === "string" && quoted.end === text.length ? wholeJson(quoted.value.trim()) : undefined;
}

/** The content of a fence, if the whole text is one. */
export function unfenced(text: string): string {
  const match = /^(`{3,}|~{3,})[^\n`]*\n([^]*?)\n?\s*(?:\1\s*)?$/.exec(text);
  return match?.[2] === undefined ? text : match[2].trim();
}

function unfencedFreeform(body: string): string {
  const match = /^\s*```[^\n`]*\n([^]*?)\n?```\s*$/.exec(body);
  return match?.[1] ?? body;
}

/** A freeform tool's text that the model put into JSON: `{"input": "…"}`. */
function freeformText(text: string): string | undefined {
  const json = text.startsWith("{") ? wholeJson(text) : undefined;
  if (!isObject(json)) return undefined;
  const values = Object.values(json);
  return values.length === 1 && typeof values[0] === "string" ? values[0] : undefined;
}

/** `{"name": "bash", "arguments": {…}}` or `{"arguments": {…}}` inside a tag that already names the tool. */
function unwrapped(json: unknown, tool: ShownTool, names: ToolNames): unknown {
  if (!isObject(json)) return json;
  const properties = tool.shownParameters["properties"];
  const own = isObject(properties) ? properties : {};
  if (Object.keys(json).every((key) => Object.hasOwn(own, key))) return json;
  const calls = callsFromJson(json, names);
  if (calls?.length === 1 && calls[0]?.tool === tool) return calls[0].arguments;
  const [entry, ...more] = Object.entries(json);
  const wrapper =
    entry !== undefined && more.length === 0 && /^(?:arguments|args|parameters|params|input)$/.test(entry[0]);
  return wrapper && isObject(entry[1]) ? entry[1] : json;
}

/** Values of XML are text; they are read as JSON where the schema wants something else than a string. */
function typedText(text: string, key: string, tool: ShownTool): unknown {
  const properties = tool.shownParameters["properties"];
  const schema = isObject(properties) ? properties[key] : undefined;
  const type = isObject(schema) ? schema["type"] : undefined;
  const value = text.replace(/^\n|\n$/g, "");
  if (type === "string" || type === undefined) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value; // the schema check decides
  }
}

const pairForms = [
  /<(?:antml:)?parameter(?:\s+name\s*=\s*["']?|\s*=\s*["']?)([\w.-]+)["']?[^>]*>([^]*?)<\/(?:antml:)?parameter>/g,
  /<arg_key>\s*([\w.-]+)\s*<\/arg_key>\s*<arg_value>([^]*?)<\/arg_value>/g,
  /<(?:arg|argument|param)\s+(?:name|key)\s*=\s*["']([\w.-]+)["'][^>]*>([^]*?)<\/(?:arg|argument|param)>/g,
  /<([A-Za-z_][\w.-]*)>([^]*?)<\/\1>/g,
];

/** Arguments as XML elements; undefined unless they are all that stands there. */
export function xmlArguments(text: string, tool: ShownTool): Readonly<Record<string, unknown>> | undefined {
  if (!text.startsWith("<")) return undefined;
  const inner = /^<(arguments|parameters|args|input)>([^]*)<\/\1>$/.exec(text)?.[2]?.trim() ?? text;
  if (/^[{[]/.test(inner)) {
    const json = wholeJson(inner);
    return isObject(json) ? json : undefined;
  }
  for (const form of pairForms) {
    const pairs = [...inner.matchAll(form)].map(
      (match) => [match[1] ?? "", typedText(match[2] ?? "", match[1] ?? "", tool)] as const,
    );
    if (pairs.length > 0 && inner.replace(form, "").trim() === "") return Object.fromEntries(pairs);
  }
  return undefined;
}

/** Bare text for a tool whose one member is a string. */
function onlyString(text: string, tool: ShownTool): unknown {
  const properties = tool.shownParameters["properties"];
  const entries = isObject(properties) ? Object.entries(properties) : [];
  const [only, ...more] = entries;
  if (only === undefined || more.length > 0 || !isObject(only[1]) || only[1]["type"] !== "string") return undefined;
  return /^["'{[<]/.test(text) ? undefined : { [only[0]]: text };
}

/** Several JSON objects one after the other, with or without commas. */
function jsonSequence(text: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const calls: CallAttempt[] = [];
  let at = 0;
  while (at < text.length) {
    if (text.charAt(at) !== "{") return undefined;
    const item = parseLooseJson(text, at);
    const found = item === undefined ? undefined : callsFromJson(item.value, names);
    if (item === undefined || found === undefined) return undefined;
    calls.push(...found);
    at = item.end + (/^[\s,;]*/.exec(text.slice(item.end))?.[0].length ?? 0);
  }
  return calls.length > 0 ? calls : undefined;
}

const wrapperTags = /<\/?(?:antml:)?(?:function_calls?|tool_calls?|tool_use)\s*>/g;

const invokeForm =
  /<(?:antml:)?(invoke|function|function_call|tool|tool_call|tool_use|call)(?:\s+name\s*=\s*["']?|\s*=\s*["']?)([^"'>\s]+)["']?[^>]*>([^]*?)<\/(?:antml:)?\1>/g;

function xmlCalls(text: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const named = /<(?:antml:)?(?:tool_call|function_call|tool_use)\s+\w+\s*=/.test(text);
  const wrappers = named ? /<\/?(?:antml:)?(?:function_calls|tool_calls)\s*>/g : wrapperTags;
  const inner = text.replace(wrappers, "").trim();
  if (inner !== text && /^[[{]/.test(inner)) return readCalls(inner, names);
  const calls = [...inner.matchAll(invokeForm)].map((match) => attempt(match[2] ?? "", match[3] ?? "", names));
  if (calls.length > 0 && inner.replace(invokeForm, "").trim() === "") return calls;
  const element = /^<(name|tool_name|tool|function)>\s*([\w.:/-]+)\s*<\/\1>\s*([^]*)$/.exec(inner);
  return element === null ? undefined : [attempt(element[2] ?? "", element[3] ?? "", names)];
}

/** `bash{"command": "ls"}`, `bash\n{…}`, `bash` and key/value tags. */
function namedJson(text: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const match = /^([A-Za-z_][\w.:/-]*)\s*(?=[{<`])([^]*)$/.exec(text);
  return match === null ? undefined : [attempt(match[1] ?? "", match[2] ?? "", names)];
}

function attempt(asked: string, body: string, names: ToolNames): CallAttempt {
  const tool = findTool(asked, names);
  return { asked, tool, arguments: tool === undefined ? undefined : (readArguments(body, tool, names) ?? body) };
}

/** Python calls with keyword arguments, one a line, also inside `print(…)` or a list: Gemini's and Llama's way. */
function pythonCalls(text: string, names: ToolNames): readonly CallAttempt[] | undefined {
  const calls: CallAttempt[] = [];
  let rest = text.replace(/^\[([^]*)\]$/, "$1").trim();
  while (rest !== "") {
    const printed = /^print\(\s*/.exec(rest);
    const head = /^([A-Za-z_][\w.]*)\(/.exec(rest.slice(printed?.[0].length ?? 0));
    const tool = head?.[1] === undefined ? undefined : findTool(head[1], names);
    if (head?.[1] === undefined || tool === undefined) return undefined;
    let at = (printed?.[0].length ?? 0) + head[0].length;
    const given: Record<string, unknown> = {};
    for (;;) {
      at += /^[\s,]*/.exec(rest.slice(at))?.[0].length ?? 0;
      if (rest.charAt(at) === ")") break;
      const key = /^([A-Za-z_]\w*)\s*=\s*/.exec(rest.slice(at));
      const value = key === null ? undefined : parseLooseJson(rest, at + key[0].length);
      if (key?.[1] === undefined || value === undefined) return undefined;
      given[key[1]] = value.value;
      at = value.end;
    }
    calls.push({ asked: head[1], tool, arguments: given });
    rest = rest.slice(at + 1).replace(printed === null ? /^[\s,;]*/ : /^\s*\)?[\s,;]*/, "");
  }
  return calls.length > 0 ? calls : undefined;
}
