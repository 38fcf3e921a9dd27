import { z } from "zod";
import { isMillraceError } from "../../../base/errors.ts";
import type { Tool } from "../../../log/request.ts";
import { parseAt } from "../parse-body.ts";
import { joinName } from "../tool-choice.ts";
import { clientTool, hostedType } from "../tool-forms.ts";

const anyTool = z.looseObject({ type: z.string().nullish() });
const namespaceTool = z.object({
  name: z.string().min(1),
  description: z.string().nullish(),
  tools: z.array(anyTool),
});
export const toolsSchema = z.array(anyTool).nullish();
type WireTool = z.infer<typeof anyTool>;

/** A tool's own name inside its namespace, for the way back. */
export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

const right = { member: "type", form: '{"type":"function","name":"…","description":"…","parameters":{…}}' } as const;

/**
 * Functions and custom tools, those inside namespaces with them, also those that items of the input bring (`ofItems`). The newest of
 * a name counts.
 *
 * @throws MillraceError `invalid_request` with the path of a tool that does not fit. Source: docs/dev/wire/clients.md, "Responses", "Hosted tools".
 */
export function parseTools(
  tools: z.infer<typeof toolsSchema>,
  ofItems: readonly { readonly tool: unknown; readonly path: string }[],
): {
  /** Those that the client runs. */
  readonly tools: readonly Tool[];
  /** The types of hosted ones that were left out. */
  readonly ignored: readonly string[];
  /** Which names were joined with a namespace. */
  readonly namespaced: Readonly<Record<string, NamespacedName>>;
} {
  const found = new Map<string, Tool>();
  const ignored = new Set<string>();
  const namespaced: Record<string, NamespacedName> = {};
  const add = (tool: WireTool, path: string, namespace: string | undefined) => {
    if (tool.type === "namespace" && namespace === undefined) {
      const group = parseAt(namespaceTool, tool, path);
      for (const [i, inner] of group.tools.entries()) add(inner, `${path}.tools[${i}]`, group.name);
      return;
    }
    const parsed = clientTool(tool, path, right);
    if (parsed === undefined) {
      ignored.add(hostedType(tool));
      return;
    }
    const name = joinName(namespace, parsed.name);
    if (namespace !== undefined) namespaced[name] = { namespace, name: parsed.name };
    found.set(name, { ...parsed, name });
  };
  for (const [i, tool] of (tools ?? []).entries()) add(tool, `tools[${i}]`, undefined);
  for (const { tool, path } of ofItems) addOfItem(() => add(parseAt(anyTool, tool, path), path, undefined));
  return { tools: [...found.values()], ignored: [...ignored], namespaced };
}

/** A tool of an item that cannot be read is left out: it stands in the history. */
function addOfItem(add: () => void): void {
  try {
    add();
  } catch (error) {
    if (!isMillraceError(error)) throw error;
  }
}
