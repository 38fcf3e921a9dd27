import { z } from "zod";
import type { Tool, ToolChoice } from "../../../log/request.ts";
import { hostedRefusal, refuse } from "../parse-body.ts";

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

/** `tools` and the older `functions`. Unknown keys (`strict`, `eager_input_streaming`) pass: they are hints. */
export const toolsSchema = z.array(z.discriminatedUnion("type", [functionTool, customTool])).nullish();
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
export const toolChoiceSchema = z
  .union([
    z.enum(["none", "auto", "required"]),
    z.discriminatedUnion("type", [namedFunction, namedCustom, allowedTools]),
  ])
  .nullish();
export const functionCallSchema = z.union([z.enum(["none", "auto"]), z.object({ name: z.string() })]).nullish();

const anyTools = z.object({ tools: z.array(z.looseObject({ type: z.string() })) });

/** @throws MillraceError `invalid_request` for a tool of a type that only its vendor could run: more than that it does not fit. */
export function refuseHosted(body: unknown): void {
  const given = anyTools.safeParse(body);
  if (!given.success) return; // the schema of the body reports what is wrong
  const at = given.data.tools.findIndex(({ type }) => type !== "function" && type !== "custom");
  const tool = given.data.tools[at];
  if (tool !== undefined) throw hostedRefusal({ type: tool.type, path: `tools[${at}]` });
}

export function parseTools(tools: z.infer<typeof toolsSchema>, functions: z.infer<typeof functionsSchema>): Tool[] {
  const parsed = (tools ?? []).map((tool) =>
    tool.type === "function" ? functionToolOf(tool.function) : freeformTool(tool.custom),
  );
  return [...parsed, ...(functions ?? []).map(functionToolOf)];
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
  if (asked.type === "allowed_tools") {
    const names = asked.allowed_tools.tools.map((tool) => tool.function?.name ?? tool.custom?.name ?? tool.name ?? "");
    return { choice: { type: asked.allowed_tools.mode }, tools: allowTools(names, tools) };
  }
  return named(asked.type === "function" ? asked.function.name : asked.custom.name, tools);
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
