import { z } from "zod";
import { isObject, type JsonObject } from "../../base/json.ts";
import type { Tool } from "../../log/request.ts";
import { parseAt, refuse } from "./parse-body.ts";

const functionDefinition = z.object({
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});
/** The older `functions` of Chat Completions. */
export const functionsSchema = z.array(functionDefinition).nullish();
const customDefinition = z.object({
  name: z.string().min(1),
  description: z.string().nullish(),
  format: z.unknown().optional(),
});

interface RightForm {
  readonly form: string;
  readonly member: "function" | "type" | "input_schema";
}

/**
 * A tool that the client runs, in the form of any API, since programs send one API's tools to another: Chat Completions' (`function`,
 * `custom`), Responses' (flat), Messages' (`input_schema`), or MCP's (`inputSchema`). Undefined for a tool of another type, which its
 * vendor runs. `right`: the form that this API has, and the member that makes it, for an error.
 *
 * @throws MillraceError `invalid_request` with the path of what does not fit.
 */
export function clientTool(given: JsonObject, path: string, right: RightForm): Tool | undefined {
  const { type, name, function: inFunction, custom: inCustom, input_schema: schema } = given;
  if (googleTool(given) !== undefined) return undefined;
  const isOwn = type === undefined || type === null || type === "function" || type === "custom";
  if (!isOwn && !(name && isObject(schema))) return undefined;
  if (isOwn && (inFunction ?? null) !== null) return functionTool(withSchema(inFunction), `${path}.function`);
  if (isOwn && (inCustom ?? null) !== null) return freeformTool(inCustom, `${path}.custom`);
  const flat = withSchema(given);
  const isFlat = flat["parameters"] !== undefined && flat["parameters"] !== null;
  if (type === "custom" && !isFlat && name) return freeformTool(given, path);
  if (name === undefined || (type !== "function" && !isFlat))
    throw refuse(
      `${path}.${name === undefined && right.member !== "function" ? "name" : right.member}`,
      "It is missing.",
      `Write the tool as \`${right.form}\`.`,
    );
  return functionTool(flat, path);
}

/** The type of a tool that its vendor runs. */
export function hostedType(tool: JsonObject): string {
  return googleTool(tool) ?? (typeof tool["type"] === "string" ? tool["type"] : "");
}

/** Google's API names its own tools by their only member: `{"googleSearch":{}}`. */
function googleTool(tool: JsonObject): string | undefined {
  const [[name, settings] = [], ...more] = Object.entries(tool);
  const isForm = name === "function" || name === "custom" || name === "type";
  return more.length === 0 && !isForm && isObject(settings) ? name : undefined;
}

/** A definition whose schema is its `parameters`. */
function withSchema(definition: unknown): JsonObject {
  if (!isObject(definition)) return {};
  const { parameters, input_schema: ofMessages, inputSchema: ofMcp } = definition;
  return { ...definition, parameters: parameters ?? ofMessages ?? ofMcp };
}

function functionTool(definition: JsonObject, path: string): Tool {
  return functionToolOf(parseAt(functionDefinition, definition, path));
}

/** A tool without parameters takes an empty object. */
export function functionToolOf({ name, description, parameters }: z.infer<typeof functionDefinition>): Tool {
  return {
    name,
    description: description ?? "",
    kind: "function",
    parameters: parameters ?? { type: "object", properties: {} },
  };
}

/** A tool that takes raw text. A grammar is kept as its only parameter description, for the prompt to show. */
function freeformTool(given: unknown, path: string): Tool {
  const { name, description, format } = parseAt(customDefinition, given, path);
  const parameters = format === undefined || format === null ? {} : { format };
  return { name, description: description ?? "", kind: "freeform", parameters };
}
