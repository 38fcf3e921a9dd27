import { z } from "zod";
import type { Tool } from "../../../log/request.ts";
import { type HostedTool, leaveOutHosted } from "../parse-body.ts";
import { chosenHosted, isNone, type toolChoiceSchema } from "../tool-choice.ts";
import { clientTool, type functionsSchema, functionToolOf } from "../tool-forms.ts";

/** `tools`. Unknown keys (`strict`, `eager_input_streaming`) pass: they are hints. Other types are hosted tools. */
export const toolsSchema = z.array(z.looseObject({ type: z.string().nullish() })).nullish();

/** The older `function_call`. */
export const functionCallSchema = z.union([z.enum(["none", "auto"]), z.object({ name: z.string() })]).nullish();

const right = {
  member: "function",
  form: '{"type":"function","function":{"name":"…","description":"…","parameters":{…}}}',
} as const;

/**
 * Functions and custom tools. `hosted`: tools that the request asks for elsewhere (`web_search_options`); `choice`: its `tool_choice`.
 *
 * @throws MillraceError `invalid_request` with the path of a tool that does not fit, or for one that only its vendor could run.
 */
export function parseTools(
  given: z.infer<typeof toolsSchema>,
  functions: z.infer<typeof functionsSchema>,
  {
    hosted: others = [],
    choice,
  }: { readonly hosted?: readonly HostedTool[]; readonly choice?: z.infer<typeof toolChoiceSchema> } = {},
): { readonly tools: readonly Tool[]; readonly ignored: readonly string[] } {
  const tools: Tool[] = [];
  const hosted: HostedTool[] = [];
  for (const [i, tool] of (given ?? []).entries()) {
    const path = `tools[${i}]`;
    const own = clientTool(tool, path, right);
    if (own === undefined) hosted.push({ type: tool.type ?? "", path });
    else tools.push(own);
  }
  tools.push(...(functions ?? []).map(functionToolOf));
  const demand = { chosen: chosenHosted(choice, tools), isNone: isNone(choice) };
  return { tools, ignored: leaveOutHosted([...hosted, ...others], tools.length, demand) };
}
