import { z } from "zod";
import { isObject, type JsonObject } from "../../../base/json.ts";
import type { Tool, ToolChoice } from "../../../log/request.ts";
import { parseAt, refuse } from "../parse-body.ts";
import { clientTool, functionToolOf, hostedType } from "../tool-forms.ts";
import { camelCased } from "./members.ts";

/** `tools`: declarations of the client's functions, and Google's own tools, each under its name. */
export const toolsSchema = z.array(z.preprocess(camelCased, z.looseObject({}))).nullish();

const schema = z.record(z.string(), z.unknown()).nullish();
const declaration = z.preprocess(
  camelCased,
  z.object({
    name: z.string().min(1),
    description: z.string().nullish(),
    parameters: schema,
    parametersJsonSchema: schema,
  }),
);

const callingConfig = z.preprocess(
  camelCased,
  z.object({ mode: z.string().nullish(), allowedFunctionNames: z.array(z.string()).nullish() }),
);
export const toolConfigSchema = z
  .preprocess(camelCased, z.looseObject({ functionCallingConfig: callingConfig.nullish() }))
  .nullish();

/** What the error for a tool of an unknown form shows. */
const otherForm = { form: '{"functionDeclarations":[{"name":"…","parameters":{}}]}', member: "type" } as const;

/**
 * The client's functions, and the names of Google's own tools (`ignored`). Tools in the form of another API are read, too.
 *
 * @throws MillraceError `invalid_request` with the path of a declaration that does not fit.
 */
export function parseTools(given: z.infer<typeof toolsSchema>): {
  readonly tools: readonly Tool[];
  readonly ignored: readonly string[];
} {
  const tools: Tool[] = [];
  const ignored = new Set<string>();
  for (const [i, { functionDeclarations: own, ...hosted }] of (given ?? []).entries()) {
    const path = `tools[${i}].functionDeclarations`;
    for (const [j, each] of parseAt(z.array(z.unknown()).nullish(), own, path)?.entries() ?? []) {
      const { parametersJsonSchema: plain, parameters, ...said } = parseAt(declaration, each, `${path}[${j}]`);
      const shape = plain ?? parameters;
      tools.push(functionToolOf({ ...said, parameters: shape && jsonSchemaOf(shape) }));
    }
    if ("type" in hosted || "function" in hosted || "name" in hosted) {
      const tool = clientTool(hosted, `tools[${i}]`, otherForm);
      if (tool === undefined) ignored.add(hostedType(hosted));
      else tools.push(tool);
    } else for (const name of Object.keys(hosted)) if (hosted[name]) ignored.add(name);
  }
  return { tools, ignored: [...ignored] };
}

/**
 * Whether and which functions are called.
 *
 * @throws MillraceError `invalid_request` for a function that was not declared.
 */
export function parseToolConfig(
  given: z.infer<typeof toolConfigSchema>,
  tools: readonly Tool[],
): { readonly choice: ToolChoice; readonly tools: readonly Tool[] } {
  const { mode, allowedFunctionNames: names } = given?.functionCallingConfig ?? {};
  const asked = mode?.toUpperCase();
  if (tools.length === 0 || (asked !== "ANY" && asked !== "NONE")) return { choice: { type: "auto" }, tools };
  if (asked === "NONE") return { choice: { type: "none" }, tools };
  if (!names?.length) return { choice: { type: "required" }, tools };
  const unknown = names.find((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== undefined)
    throw refuse(
      "toolConfig.functionCallingConfig.allowedFunctionNames",
      `No function is named \`${unknown.slice(0, 100)}\`.`,
    );
  const [name = "", ...more] = names;
  if (more.length === 0) return { choice: { type: "named", name }, tools };
  return { choice: { type: "required" }, tools: tools.filter((tool) => names.includes(tool.name)) };
}

/** Members of a schema whose values are schemas by name, and those whose values are no schemas. */
const byName = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
const plain = new Set(["enum", "const", "default", "example", "examples", "required"]);

/** A schema in Google's form (types in capitals, `nullable`, counts as texts) as a JSON Schema; a JSON Schema stays as it is. */
export function jsonSchemaOf(schema: JsonObject): JsonObject {
  const { nullable, propertyOrdering: _, ...members } = schema;
  const entries = Object.entries(members).map(([name, value]) => [name, memberOf(name, value)]);
  const own: JsonObject = Object.fromEntries(entries);
  const { type, ...others } = own;
  if (type === "type_unspecified") return others;
  return nullable === true && typeof type === "string" ? { ...own, type: [type, "null"] } : own;
}

function memberOf(name: string, value: unknown): unknown {
  if (name === "type") return typeof value === "string" ? value.toLowerCase() : value;
  if (/^(?:min|max)[A-Z]/.test(name)) return typeof value === "string" ? Number(value) : value;
  if (plain.has(name)) return value;
  if (byName.has(name) && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, memberOf("", each)]));
  if (Array.isArray(value)) return value.map((each) => memberOf("", each));
  return isObject(value) ? jsonSchemaOf(value) : value;
}
