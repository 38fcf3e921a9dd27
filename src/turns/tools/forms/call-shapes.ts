import { isObject, type JsonObject } from "../../../base/json.ts";
import type { ShownTool, ToolNames } from "../names.ts";

/** A call as read from an answer, before its arguments are checked. `tool` undefined: nothing of that name is offered. */
export interface CallAttempt {
  readonly asked: string;
  readonly tool: ShownTool | undefined;
  readonly arguments: unknown;
  /** The text between the tags, if the arguments are that text. */
  readonly raw?: string;
  /** Why it cannot be read. */
  readonly problem?: string;
  /** The answer was cut off in it; `raw` is as far as it came. */
  readonly isCut?: true;
}

const words = (list: string) => list.split(" ");
const nameKeys = words("name tool tool_name toolName function function_name functionName action recipient_name");
const argumentKeys = words(
  "arguments args parameters params input tool_input toolInput action_input actionInput kwargs function_args",
);
const listKeys = words("tool_calls toolCalls tool_uses function_calls calls actions tools");
const wrapperKeys = words("function_call tool_call toolCall tool_use function action call");
/** Keys that say what kind of object it is or name the call, and are no arguments. */
const labelKeys = words("id type call_id callId tool_call_id index");
/** Keys of a plan around the call. */
const planKeys = words("thought thoughts reasoning plan analysis thinking rationale");
/** Keys that begin an object of calls; `name` begins any other, too. */
const callKeys = [...argumentKeys, ...listKeys, ...wrapperKeys, ...planKeys, "id", "call_id", "tool_call_id"];

/** The offered tool that a written name means: exact, without a namespace in front, or the only one that differs in case and separators. */
export function findTool(name: string, names: ToolNames): ShownTool | undefined {
  if (name === "") return undefined;
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
  const around = [...listKeys, ...wrapperKeys].find((key) => typeof value[key] === "object" && value[key] !== null);
  if (around !== undefined) return callsFromJson(value[around], names, depth + 1);
  const [[asked, given] = ["", undefined], ...more] = Object.entries(value);
  const tool = isObject(given) && more.length === 0 ? findTool(asked, names) : undefined; // `{"bash": {"command": "ls"}}`
  return tool === undefined ? undefined : [{ asked, tool, arguments: given }];
}

function directCall(value: JsonObject, names: ToolNames): CallAttempt | undefined {
  const nameKey = nameKeys.find((key) => typeof value[key] === "string");
  if (nameKey === undefined) return undefined;
  const asked = String(value[nameKey]);
  const tool = findTool(asked, names);
  const argumentKey = argumentKeys.find((key) => Object.hasOwn(value, key));
  if (argumentKey !== undefined) return { asked, tool, arguments: value[argumentKey] };
  if (tool === undefined || nameKey === "name") return undefined;
  const known = propertiesOf(tool);
  const rest = Object.entries(value).filter(([key]) => ![nameKey, ...labelKeys, ...planKeys].includes(key));
  const areArguments = rest.every(([key]) => Object.hasOwn(known, key));
  return areArguments ? { asked, tool, arguments: Object.fromEntries(rest) } : undefined;
}

export function propertiesOf({ shownParameters: { properties } }: ShownTool): JsonObject {
  return isObject(properties) ? properties : {};
}

/** The first key of an object, also in lists, and its value if that is a string. Everything is optional: the text may end anywhere. */
const firstMember = /^[\s[]*(?:\{\s*["']?([\w.:-]*)["']?\s*(?::\s*(?:["']([^"'\n]*)(?:["'])?)?)?)?/;

/**
 * Whether text that begins like JSON may still become a call: decided by its first key, so that ordinary JSON streams on
 * at once. "unknown" until that key (and a name that follows it) is there.
 */
export function mayBeCall(text: string, names: ToolNames): "yes" | "no" | "unknown" {
  const [found = "", key = "", value] = firstMember.exec(text) ?? [];
  if (found.length === text.length) return "unknown";
  if (value !== undefined && key === "type")
    return /^(?:function|tool_use|tool_call|function_call)$/.test(value) ? "yes" : "no";
  if (value !== undefined && nameKeys.includes(key)) {
    const isEnvelope = key === "action" && /^(?:tool_call|final)$/.test(value);
    return isEnvelope || findTool(value, names) !== undefined ? "yes" : "no";
  }
  return callKeys.includes(key) || findTool(key, names) !== undefined ? "yes" : "no";
}
