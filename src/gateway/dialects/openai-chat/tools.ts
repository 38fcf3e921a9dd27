import { z } from "zod";
import { isObject } from "../../../base/json.ts";
import type { Tool, ToolChoice } from "../../../log/request.ts";
import { type HostedTool, leaveOutHosted, parseAt, refuse } from "../parse-body.ts";

export const functionDefinition = z.object({
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});
const functionTool = z.object({ type: z.literal("function"), function: functionDefinition });
export const customDefinition = z.object({
  name: z.string().min(1),
  description: z.string().nullish(),
  format: z.unknown().optional(),
});
const customTool = z.object({ type: z.literal("custom"), custom: customDefinition });

/** `tools` and the older `functions`. Unknown keys (`strict`, `eager_input_streaming`) pass: they are hints. Other types are hosted tools. */
export const toolsSchema = z.array(z.looseObject({ type: z.string() })).nullish();
export const functionsSchema = z.array(functionDefinition).nullish();

const namedFunction = z.object({ type: z.literal("function"), function: z.object({ name: z.string() }) });
const namedCustom = z.object({ type: z.literal("custom"), custom: z.object({ name: z.string() }) });
const allowedTools = z.object({
  type: z.literal("allowed_tools"),
  allowed_tools: z.object({
    mode: z.enum(["auto", "required"]),
    tools: z.array(
      z.object({
        function: z.object({ name: z.string() }).optional(),
        custom: z.object({ name: z.string() }).optional(),
        name: z.string().optional(),
      }),
    ),
  }),
});
const plainChoices = ["none", "auto", "required"] as const;
/** Some clients write the plain ones as objects. */
const objectChoice = z.discriminatedUnion("type", [
  namedFunction,
  namedCustom,
  allowedTools,
  z.object({ type: z.enum(plainChoices) }),
]);
export const toolChoiceSchema = z.union([z.enum(plainChoices), z.looseObject({ type: z.string() })]).nullish();
export const functionCallSchema = z.union([z.enum(["none", "auto"]), z.object({ name: z.string() })]).nullish();

/**
 * Functions and custom tools. `hosted`: tools that the request asks for elsewhere (`web_search_options`); `chosen`: its `tool_choice`.
 *
 * @throws MillraceError `invalid_request` with the path of a tool that does not fit, or for one that only its vendor could run.
 */
export function parseTools(
  given: z.infer<typeof toolsSchema>,
  functions: z.infer<typeof functionsSchema>,
  { hosted: others = [], choice }: { readonly hosted?: readonly HostedTool[]; readonly choice?: unknown } = {},
): { readonly tools: readonly Tool[]; readonly ignored: readonly string[] } {
  const tools: Tool[] = [];
  const hosted: HostedTool[] = [];
  for (const [i, tool] of (given ?? []).entries()) {
    const path = `tools[${i}]`;
    if (tool.type === "function") tools.push(functionToolOf(parseAt(functionTool, tool, path).function));
    else if (tool.type === "custom") tools.push(freeformTool(parseAt(customTool, tool, path).custom));
    else hosted.push({ type: tool.type, path });
  }
  tools.push(...(functions ?? []).map(functionToolOf));
  const isNone = choice === "none" || (isObject(choice) && choice["type"] === "none");
  const demand = { chosen: chosenHosted(choice), isNone };
  return { tools, ignored: leaveOutHosted([...hosted, ...others], tools.length, demand) };
}

/** The hosted tool that a `tool_choice` demands; undefined for a choice of other things. */
function chosenHosted(choice: unknown): HostedTool | undefined {
  if (!isObject(choice) || typeof choice["type"] !== "string") return undefined;
  const { type } = choice;
  const isKnown = ["function", "custom", "allowed_tools", ...plainChoices].includes(type);
  return isKnown ? undefined : { type, path: "tool_choice" };
}

/** A tool without parameters takes an empty object. */
export function functionToolOf(definition: z.infer<typeof functionDefinition>): Tool {
  return {
    name: definition.name,
    description: definition.description ?? "",
    kind: "function",
    parameters: definition.parameters ?? { type: "object", properties: {} },
  };
}

/** A tool that takes raw text. A grammar is kept as its only parameter description, for the prompt to show. */
export function freeformTool(tool: z.infer<typeof customDefinition>): Tool {
  return {
    name: tool.name,
    description: tool.description ?? "",
    kind: "freeform",
    parameters: tool.format === undefined || tool.format === null ? {} : { format: tool.format },
  };
}

/**
 * Parses `tool_choice`, and keeps only the tools that it allows. Without tools any choice means none.
 *
 * @throws MillraceError `invalid_request` when a tool is named that was not offered.
 */
export function parseToolChoice(
  choice: z.infer<typeof toolChoiceSchema>,
  legacy: z.infer<typeof functionCallSchema>,
  tools: readonly Tool[],
): { readonly choice: ToolChoice; readonly tools: readonly Tool[] } {
  if (tools.length === 0) return { choice: { type: "auto" }, tools };
  const asked =
    choice ??
    (typeof legacy === "object" && legacy !== null ? ({ type: "function", function: legacy } as const) : legacy);
  if (asked === undefined || asked === null) return { choice: { type: "auto" }, tools };
  if (typeof asked === "string") return { choice: { type: asked }, tools };
  return objectChoiceOf(parseAt(objectChoice, asked, "tool_choice"), tools);
}

function objectChoiceOf(
  asked: z.infer<typeof objectChoice>,
  tools: readonly Tool[],
): { readonly choice: ToolChoice; readonly tools: readonly Tool[] } {
  if (asked.type === "allowed_tools") {
    const names = asked.allowed_tools.tools.map((tool) => tool.function?.name ?? tool.custom?.name ?? tool.name ?? "");
    return { choice: { type: asked.allowed_tools.mode }, tools: allowTools(names, tools) };
  }
  if (asked.type === "function") return named(asked.function.name, tools);
  if (asked.type === "custom") return named(asked.custom.name, tools);
  return { choice: { type: asked.type }, tools };
}

/** @throws MillraceError `invalid_request` when the tool was not offered. */
export function named(
  name: string,
  tools: readonly Tool[],
): { readonly choice: ToolChoice; readonly tools: readonly Tool[] } {
  if (!tools.some((tool) => tool.name === name)) throw refuse("tool_choice", `No tool is named \`${name}\`.`);
  return { choice: { type: "named", name }, tools };
}

/** @throws MillraceError `invalid_request` when a name was not offered. */
export function allowTools(names: readonly string[], tools: readonly Tool[]): readonly Tool[] {
  const unknown = names.find((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== undefined) throw refuse("tool_choice", `No tool is named \`${unknown}\`.`);
  return tools.filter((tool) => names.includes(tool.name));
}
