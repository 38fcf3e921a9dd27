import { z } from "zod";
import type { Tool } from "../../../log/request.ts";
import { clientTool, type functionsSchema, functionToolOf, hostedType } from "../tool-forms.ts";

/** `tools`. Unknown keys (`strict`, `eager_input_streaming`) pass: they are hints. Other types are hosted tools. */
export const toolsSchema = z.array(z.looseObject({ type: z.string().nullish() })).nullish();

/** The older `function_call`. */
export const functionCallSchema = z.union([z.enum(["none", "auto"]), z.object({ name: z.string() })]).nullish();

const right = {
  member: "function",
  form: '{"type":"function","function":{"name":"…","description":"…","parameters":{…}}}',
} as const;

/**
 * Functions and custom tools, and the types of hosted ones (`ignored`).
 *
 * @throws MillraceError `invalid_request` with the path of a tool that does not fit.
 */
export function parseTools(
  given: z.infer<typeof toolsSchema>,
  functions?: z.infer<typeof functionsSchema>,
): { readonly tools: readonly Tool[]; readonly ignored: readonly string[] } {
  const tools: Tool[] = [];
  const ignored = new Set<string>();
  for (const [i, tool] of (given ?? []).entries()) {
    const own = clientTool(tool, `tools[${i}]`, right);
    if (own === undefined) ignored.add(hostedType(tool));
    else tools.push(own);
  }
  tools.push(...(functions ?? []).map(functionToolOf));
  return { tools, ignored: [...ignored] };
}
