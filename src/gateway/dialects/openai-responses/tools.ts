import { z } from "zod";
import { isMillraceError } from "../../../base/errors.ts";
import type { Tool, ToolChoice } from "../../../log/request.ts";
import {
  allowTools,
  customDefinition,
  freeformTool,
  functionDefinition,
  functionToolOf,
  named,
} from "../openai-chat/tools.ts";
import { type HostedTool, leaveOutHosted, parseAt, refuse } from "../parse-body.ts";

const namespaceTool = z.object({
  name: z.string().min(1),
  description: z.string().nullish(),
  tools: z.array(z.looseObject({ type: z.string() })),
});

const anyTool = z.looseObject({ type: z.string() });
export const toolsSchema = z.array(anyTool).nullish();
type WireTool = z.infer<typeof anyTool>;

const allowedTool = z.looseObject({ type: z.string(), name: z.string().optional(), namespace: z.string().optional() });
export const toolChoiceSchema = z
  .union([
    z.enum(["none", "auto", "required"]),
    z.looseObject({
      type: z.string(),
      name: z.string().optional(),
      namespace: z.string().nullish(),
      mode: z.enum(["auto", "required"]).optional(),
      tools: z.array(allowedTool).optional(),
    }),
  ])
  .nullish();

/** A tool's own name inside its namespace, for the way back. */
export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** One name for a tool of a namespace: namespaces are the client's own grouping, models know flat names. */
export function joinName(namespace: string | null | undefined, name: string): string {
  return namespace ? `${namespace}__${name}` : name;
}

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
    if (tool.type !== "function" && tool.type !== "custom") {
      hosted.push({ type: tool.type, path });
      return;
    }
    const parsed =
      tool.type === "function"
        ? functionToolOf(parseAt(functionDefinition, tool, path))
        : freeformTool(parseAt(customDefinition, tool, path));
    const name = joinName(namespace, parsed.name);
    if (namespace !== undefined) namespaced[name] = { namespace, name: parsed.name };
    found.set(name, { ...parsed, name });
  };
  for (const [i, tool] of (tools ?? []).entries()) add(tool, `tools[${i}]`, undefined);
  const demanded = hosted.length;
  for (const { tool, path } of ofItems) addOfItem(() => add(parseAt(anyTool, tool, path), path, undefined));
  const own = [...found.values()];
  const ignored = hosted.slice(demanded).map(({ type }) => type); // the conversation had them: nobody demands them now
  const isNone = choice === "none" || (typeof choice === "object" && choice?.type === "none");
  const left = leaveOutHosted(hosted.slice(0, demanded), own.length, { chosen: chosenHosted(choice, own), isNone });
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

/** The hosted tool that a `tool_choice` demands: itself, or as the only kind that it allows. */
function chosenHosted(choice: z.infer<typeof toolChoiceSchema>, own: readonly Tool[]): HostedTool | undefined {
  if (!choice || typeof choice === "string") return undefined;
  const { type } = choice;
  if (["none", "auto", "required", "function", "custom"].includes(type)) return undefined;
  if (type !== "allowed_tools") return { type, path: "tool_choice" };
  const given = choice.tools ?? [];
  const hosted = given.find((tool) => !isOwn(tool));
  return hosted === undefined || (given.some(isOwn) && own.length > 0)
    ? undefined
    : { type: hosted.type, path: "tool_choice" };
}

function isOwn({ type }: { readonly type: string }): boolean {
  return type === "function" || type === "custom";
}

/** @throws MillraceError `invalid_request` for a tool that was not offered, or that only the vendor could run. */
export function parseToolChoice(
  choice: z.infer<typeof toolChoiceSchema>,
  tools: readonly Tool[],
): { readonly choice: ToolChoice; readonly tools: readonly Tool[] } {
  if (choice === undefined || choice === null) return { choice: { type: "auto" }, tools };
  if (typeof choice === "string") return { choice: { type: tools.length === 0 ? "auto" : choice }, tools };
  if (choice.type === "allowed_tools") {
    const names = (choice.tools ?? []).filter(isOwn).map((tool) => joinName(tool.namespace, tool.name ?? ""));
    const allowed = allowTools(names, tools);
    return { choice: { type: allowed.length === 0 ? "auto" : (choice.mode ?? "auto") }, tools: allowed };
  }
  if ((choice.type === "function" || choice.type === "custom") && choice.name !== undefined) {
    return named(joinName(choice.namespace, choice.name), tools);
  }
  if (choice.type === "function" || choice.type === "custom") throw refuse("tool_choice.name", "Name the tool.");
  const plain = (["none", "required"] as const).find((type) => type === choice.type);
  return { choice: { type: tools.length === 0 ? "auto" : (plain ?? "auto") }, tools };
}
