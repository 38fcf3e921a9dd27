import { z } from "zod";
import type { Tool, ToolChoice } from "../../../log/request.ts";
import { type HostedTool, leaveOutHosted } from "../hosted-tools.ts";
import { refuse } from "../parse-body.ts";
import { clientTool } from "./client-tools.ts";

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

/** Tools that the client runs, and the types of those that were left out. */
export interface ParsedTools {
  readonly tools: readonly Tool[];
  readonly ignored: readonly string[];
}

/**
 * A tool with an `input_schema` belongs to the client, for any type; so do the tools whose form the API defines and that the client
 * runs (`bash_…`, `text_editor_…`, `memory_…`). Any other tool (`web_search_…`) is run by the vendor.
 *
 * @throws MillraceError `invalid_request` with the path of a tool that is wrong, or that cannot be run here.
 */
export function parseTools(given: z.infer<typeof toolsSchema>): ParsedTools {
  const tools: Tool[] = [];
  const hosted: HostedTool[] = [];
  for (const [i, { type, name, description, input_schema: parameters }] of (given ?? []).entries()) {
    const known = parameters ? undefined : clientTool(type, name);
    if (known !== undefined) {
      tools.push(known);
      continue;
    }
    const own = type === undefined || type === null || type === "custom";
    if (own && !name) throw refuse(`tools[${i}].name`, "A tool needs a name.");
    if (own && !parameters) throw refuse(`tools[${i}].input_schema`, "A tool needs a JSON Schema for its input.");
    if (name && parameters) tools.push({ name, description: description ?? "", kind: "function", parameters });
    else hosted.push({ type: type ?? "custom", path: `tools[${i}]` });
  }
  return { tools, ignored: leaveOutHosted(hosted, tools.length) };
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
