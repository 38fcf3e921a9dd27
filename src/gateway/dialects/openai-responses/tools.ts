import { z } from "zod";
import { isMillraceError } from "../../../base/errors.ts";
import type { Tool } from "../../../log/request.ts";
import { type HostedTool, leaveOutHosted, parseAt } from "../parse-body.ts";
import { chosenHosted, isNone, joinName, type toolChoiceSchema } from "../tool-choice.ts";
import { clientTool } from "../tool-forms.ts";

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
 * @throws MillraceError `invalid_request` with the path of a tool that does not fit, or that nothing here could run
 * (`leaveOutHosted`). Source: docs/dev/wire/clients.md, "Responses", "Hosted tools".
 */
export function parseTools(
  tools: z.infer<typeof toolsSchema>,
  choice: z.infer<typeof toolChoiceSchema>,
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
  const hosted: HostedTool[] = [];
  const namespaced: Record<string, NamespacedName> = {};
  const add = (tool: WireTool, path: string, namespace: string | undefined) => {
    if (tool.type === "namespace" && namespace === undefined) {
      const group = parseAt(namespaceTool, tool, path);
      for (const [i, inner] of group.tools.entries()) add(inner, `${path}.tools[${i}]`, group.name);
      return;
    }
    const parsed = clientTool(tool, path, right);
    if (parsed === undefined) {
      hosted.push({ type: tool.type ?? "", path });
      return;
    }
    const name = joinName(namespace, parsed.name);
    if (namespace !== undefined) namespaced[name] = { namespace, name: parsed.name };
    found.set(name, { ...parsed, name });
  };
  for (const [i, tool] of (tools ?? []).entries()) add(tool, `tools[${i}]`, undefined);
  const demanded = hosted.length;
  for (const { tool, path } of ofItems) addOfItem(() => add(parseAt(anyTool, tool, path), path, undefined));
  const own = [...found.values()];
  const ignored = hosted.slice(demanded).map(({ type }) => type); // the conversation had them: nobody demands them now
  const demand = { chosen: chosenHosted(choice, own), isNone: isNone(choice) };
  const left = leaveOutHosted(hosted.slice(0, demanded), own.length, demand);
  return { tools: own, ignored: [...new Set([...left, ...ignored])], namespaced };
}

/** A tool of an item that cannot be read is left out: it stands in the history. */
function addOfItem(add: () => void): void {
  try {
    add();
  } catch (error) {
    if (!isMillraceError(error)) throw error;
  }
}
