import { isObject, type JsonObject } from "../../src/base/json.ts";

/** A request that an agent made of its model. */
export interface Asked {
  readonly path: string;
  readonly model: string;
  /** The whole conversation, as JSON. */
  readonly text: string;
  /** Every text of the body. */
  readonly texts: readonly string[];
  /** The texts of what the user said last. */
  readonly user: readonly string[];
  /** The tools that the model was offered: their JSON schemas, by name. */
  readonly tools: Readonly<Record<string, JsonObject>>;
  /** Whether the model is to answer; else its tokens are to be counted, or the like. */
  readonly isPrompt: boolean;
}

/** A conversation in any of the APIs, without the system text. */
export function saidIn(body: JsonObject): readonly unknown[] {
  return ["messages", "input", "contents"].flatMap((key) => body[key] ?? []);
}

/** What the user said; a result of a tool has that role in some APIs too. */
export function isQuestion(entry: unknown): boolean {
  return isObject(entry) && entry["role"] === "user" && !/tool_result|functionResponse/.test(JSON.stringify(entry));
}

/** Reads a request in OpenAI's, Anthropic's or Google's form. */
export function readAsked(path: string, body: JsonObject): Asked {
  const said = saidIn(body);
  return {
    path,
    model: typeof body["model"] === "string" ? body["model"] : (/models\/([^:]+)/.exec(path)?.[1] ?? ""),
    text: JSON.stringify(said),
    texts: textsIn(body),
    user: textsIn(said.findLast(isQuestion)),
    tools: Object.fromEntries(toolsIn(body["tools"])),
    isPrompt: /\/(?:chat\/completions|completions|responses|messages)$|[gG]enerateContent$/.test(path),
  };
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** Google's are declared in groups, Codex' are members of namespaces, those of its vendor have a type alone. */
function toolsIn(tools: unknown): readonly (readonly [string, JsonObject])[] {
  if (!Array.isArray(tools)) return [];
  return tools.filter(isObject).flatMap((tool) => {
    const { functionDeclarations, name, type, tools: members } = tool;
    if (functionDeclarations !== undefined) return toolsIn(functionDeclarations);
    if (members !== undefined)
      return toolsIn(members).map(([member, schema]) => [`${String(name)}/${member}`, schema] as const);
    const own = isObject(tool["function"]) ? tool["function"] : tool;
    const schema = own["parameters"] ?? own["parametersJsonSchema"] ?? own["input_schema"];
    const named = [own["name"], name, type, ...Object.keys(tool)].find((word) => typeof word === "string") ?? "";
    return [[named, isObject(schema) ? schema : {}] as const];
  });
}
