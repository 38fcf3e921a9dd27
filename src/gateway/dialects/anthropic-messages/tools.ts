import { z } from "zod";
import type { Tool, ToolChoice } from "../../../log/request.ts";
import { refuse } from "../parse-body.ts";

export const toolsSchema = z
  .array(
    z.object({
      type: z.string().nullish(),
      name: z.string().min(1).nullish(),
      description: z.string().nullish(),
      input_schema: z.record(z.string(), z.unknown()).nullish(),
    }),
  )
  .nullish();

export const toolChoiceSchema = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("auto"), disable_parallel_tool_use: z.boolean().nullish() }),
    z.object({ type: z.literal("any"), disable_parallel_tool_use: z.boolean().nullish() }),
    z.object({ type: z.literal("tool"), name: z.string(), disable_parallel_tool_use: z.boolean().nullish() }),
    z.object({ type: z.literal("none") }),
  ])
  .nullish();

/** Tools that the client runs. What the vendor would run itself (`web_search_…`) has no schema of its own and is left out. */
export function parseTools(tools: z.infer<typeof toolsSchema>): Tool[] {
  return (tools ?? []).flatMap((tool, i): Tool[] => {
    const own = tool.type === undefined || tool.type === null || tool.type === "custom";
    if (own && !tool.name) throw refuse(`tools[${i}].name`, "A tool needs a name.");
    if (own && !tool.input_schema)
      throw refuse(`tools[${i}].input_schema`, "A tool needs a JSON Schema for its input.");
    if (!tool.name || !tool.input_schema) return [];
    return [{ name: tool.name, description: tool.description ?? "", kind: "function", parameters: tool.input_schema }];
  });
}

/** @throws MillraceError `invalid_request` when a tool is named that was not offered, or cannot be. */
export function parseToolChoice(choice: z.infer<typeof toolChoiceSchema>, tools: readonly Tool[]): ToolChoice {
  if (!choice || tools.length === 0) return { type: "auto" };
  switch (choice.type) {
    case "auto":
    case "none":
      return { type: choice.type };
    case "any":
      return { type: "required" };
    case "tool":
      if (!tools.some((tool) => tool.name === choice.name)) {
        throw refuse("tool_choice.name", `No tool is named \`${choice.name.slice(0, 100)}\`.`);
      }
      return { type: "named", name: choice.name };
    default:
      return choice satisfies never;
  }
}
