import { isObject, type JsonObject } from "../../../base/json.ts";
import { parsedJson } from "../arguments/json.ts";
import type { ShownTool, ToolNames } from "../names.ts";

/** A call as read from an answer, before its arguments are checked. `tool` undefined: nothing of that name is offered. */
export interface CallAttempt {
  readonly asked: string;
  readonly tool: ShownTool | undefined;
  readonly arguments: unknown;
  /** The text between the tags, if the arguments are that text. */
  readonly raw?: string;
  /** The smallest text that names the tool and the arguments; by default the block around the call. */
  readonly source?: string;
  /** Why it cannot be read. */
  readonly problem?: string;
  /** The arguments were not written as taught. */
  readonly isRepaired?: boolean;
}

const nameKeys = [
  "name",
  "tool",
  "tool_name",
  "toolName",
  "function",
  "function_name",
  "functionName",
  "action",
  "recipient_name",
];
const argumentKeys = [
  "arguments",
  "args",
  "parameters",
  "params",
  "input",
  "tool_input",
  "toolInput",
  "action_input",
  "actionInput",
  "kwargs",
  "function_args",
];
const listKeys = ["tool_calls", "toolCalls", "tool_uses", "function_calls", "calls", "actions", "tools"];
const wrapperKeys = ["function_call", "tool_call", "toolCall", "tool_use", "function", "action", "call"];
/** Keys that say what kind of object it is or name the call, and are no arguments. */
const labelKeys = new Set(["id", "type", "call_id", "callId", "tool_call_id", "index"]);
/** Keys of a plan around the call. */
const planKeys = ["thought", "thoughts", "reasoning", "plan", "analysis", "thinking", "rationale"];

/** The offered tool that a written name means: exact, without a namespace in front, or the only one that differs in case and separators. */
export function findTool(name: string, names: ToolNames): ShownTool | undefined {
  const exact = names.byShownName(name);
  if (exact !== undefined) return exact;
  const bare = name
    .trim()
    .replace(/^(?:functions?|tools?|default_api|multi_tool_use|api)[.:/]/, "")
    .replace(/:\d+$/, "");
  const found = names.byShownName(bare);
  if (found !== undefined) return found;
  const alike = names.tools.filter(
    (tool) => plain(tool.shownName) === plain(bare) || plain(tool.tool.name) === plain(bare),
  );
  return alike.length === 1 && plain(bare) !== "" ? alike[0] : undefined;
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[\s_.-]+/g, "");
}

/**
 * The calls in a JSON value, in any of the shapes that models write: `{name, arguments}` and its synonyms, OpenAI's and Anthropic's
 * own objects, lists, a plan with calls inside, `{toolName: {…}}`. Undefined when there is no call.
 */
export function callsFromJson(value: unknown, names: ToolNames, depth = 0): readonly CallAttempt[] | undefined {
  if (depth > 4) return undefined;
  if (Array.isArray(value)) {
    const each = value.map((item) => callsFromJson(item, names, depth + 1));
    return each.length > 0 && each.every((calls) => calls !== undefined) ? each.flat() : undefined;
  }
  if (!isObject(value)) return undefined;
  const direct = directCall(value, names);
  if (direct !== undefined) return [direct];
  for (const key of listKeys) if (Array.isArray(value[key])) return callsFromJson(value[key], names, depth + 1);
  for (const key of wrapperKeys) if (isObject(value[key])) return callsFromJson(value[key], names, depth + 1);
  const keyed = keyedCall(value, names);
  return keyed === undefined ? undefined : [keyed];
}

function directCall(value: JsonObject, names: ToolNames): CallAttempt | undefined {
  const nameKey = nameKeys.find((key) => typeof value[key] === "string");
  const name = nameKey === undefined ? undefined : value[nameKey];
  if (nameKey === undefined || typeof name !== "string") return undefined;
  const tool = findTool(name, names);
  const argumentKey = argumentKeys.find((key) => Object.hasOwn(value, key));
  if (argumentKey !== undefined) return { asked: name, tool, arguments: unquoted(value[argumentKey], tool) };
  if (tool === undefined || nameKey === "name") return undefined;
  const rest = Object.entries(value).filter(
    ([key]) => key !== nameKey && !labelKeys.has(key) && !planKeys.includes(key),
  );
  const properties = tool.shownParameters["properties"];
  const known = isObject(properties) ? properties : {};
  return rest.every(([key]) => Object.hasOwn(known, key))
    ? { asked: name, tool, arguments: Object.fromEntries(rest) }
    : undefined;
}

/** `{"bash": {"command": "ls"}}`: the tool's name is the only key. */
function keyedCall(value: JsonObject, names: ToolNames): CallAttempt | undefined {
  const [entry, ...more] = Object.entries(value);
  if (entry === undefined || more.length > 0 || !isObject(entry[1])) return undefined;
  const tool = findTool(entry[0], names);
  return tool === undefined ? undefined : { asked: entry[0], tool, arguments: entry[1] };
}

/** Arguments that are themselves a string of JSON, as OpenAI's wire has them. */
function unquoted(value: unknown, tool: ShownTool | undefined): unknown {
  if (typeof value !== "string" || tool?.tool.kind === "freeform") return value;
  const json = parsedJson(value);
  return json === undefined ? value : json; // no JSON: the schema check says so
}

/**
 * Whether text that begins like JSON may still become a call: decided by its first key, so that ordinary JSON streams on
 * at once. "unknown" until that key (and a name that follows it) is there.
 */
export function mayBeCall(text: string, names: ToolNames): "yes" | "no" | "unknown" {
  const match = /^[\s[{]*?\{\s*(?:["']([\w.:-]*)["']?|([A-Za-z_]\w*)?)\s*(:?)\s*(?:["']([^"'\n]*)(["'])?)?/.exec(text);
  if (match === null) return /^[\s[{]*$/.test(text) ? "unknown" : "no";
  const key = match[1] ?? match[2] ?? "";
  const complete = match[3] === ":";
  if (!complete) return match[0].length === text.length ? "unknown" : "no";
  const value = match[5] === undefined ? undefined : match[4];
  const valueOpen = value === undefined && /:\s*(?:["'][^"'\n]*)?$/.test(match[0]) && match[0].length === text.length;
  if (key === "type") {
    if (valueOpen) return "unknown";
    return value !== undefined && /^(?:function|tool_use|tool_call|function_call)$/.test(value) ? "yes" : "no";
  }
  if (key === "action" && /^(?:tool_call|final)$/.test(value ?? "")) return "yes";
  if (nameKeys.includes(key)) {
    if (valueOpen) return "unknown";
    if (value === undefined) return wrapperKeys.includes(key) ? "yes" : "no";
    return findTool(value, names) === undefined ? "no" : "yes";
  }
  const known = [...argumentKeys, ...listKeys, ...wrapperKeys, ...planKeys, "id", "call_id", "tool_call_id"];
  return known.includes(key) || findTool(key, names) !== undefined ? "yes" : "no";
}
