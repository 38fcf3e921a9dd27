import { z } from "zod";
import { isObject } from "../../base/json.ts";
import type { Tool, ToolChoice } from "../../log/request.ts";
import { refuse } from "./parse-body.ts";

/** One name for a tool of a namespace: namespaces are the client's own grouping, models know flat names. */
export function joinName(namespace: string | null | undefined, name: string): string {
  return namespace ? `${namespace}__${name}` : name;
}

const allowedTool = z.looseObject({ type: z.string(), name: z.string().optional(), namespace: z.string().nullish() });
const anyChoice = z
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

/** `tool_choice` in the form of any API, read as Responses have it. */
export const toolChoiceSchema = z.preprocess(flatChoice, anyChoice);
export type ToolChoiceBody = z.infer<typeof anyChoice>;

/** The same in one form: Messages say `any` and `tool`, Chat Completions put the name into a member of its own. Other values stay. */
function flatChoice(given: unknown): unknown {
  if (given === "any") return "required";
  if (!isObject(given)) return given;
  const { type, function: inFunction, custom: inCustom, allowed_tools: allowed } = given;
  if (type === "allowed_tools" && isObject(allowed)) return flatChoice({ type, ...allowed });
  if (type === "allowed_tools" && Array.isArray(given["tools"]))
    return { ...given, tools: given["tools"].map((tool) => flatChoice(withType(tool))) };
  const holder = [inFunction, inCustom].find(isObject);
  const flat = holder === undefined ? given : { ...given, name: holder["name"] };
  return { ...flat, type: type === "any" ? "required" : type === "tool" ? "function" : type };
}

/** A tool that is named alone is a function. */
function withType(tool: unknown): unknown {
  return isObject(tool) && tool["type"] === undefined ? { ...tool, type: "function" } : tool;
}

function isOwn({ type }: { readonly type: string }): boolean {
  return type === "function" || type === "custom";
}

/** Whether a `tool_choice` demands a hosted tool: itself, or as the only kind that it allows. */
export function demandsHosted(choice: ToolChoiceBody, own: readonly Tool[]): boolean {
  if (!choice || typeof choice === "string") return false;
  const { type, tools = [] } = choice;
  if (["none", "auto", "required", "function", "custom"].includes(type)) return false;
  return type !== "allowed_tools" || (tools.length > 0 && !(tools.some(isOwn) && own.length > 0));
}

/**
 * The choice, and the tools that it allows. Without tools a choice of a kind means nothing.
 *
 * @throws MillraceError `invalid_request` for a tool that was not offered.
 */
export function parseToolChoice(
  choice: ToolChoiceBody,
  tools: readonly Tool[],
): { readonly choice: ToolChoice; readonly tools: readonly Tool[] } {
  if (choice === undefined || choice === null) return { choice: { type: "auto" }, tools };
  if (typeof choice === "string") return { choice: { type: tools.length === 0 ? "auto" : choice }, tools };
  if (choice.type === "allowed_tools") {
    const names = (choice.tools ?? []).filter(isOwn).map((tool) => joinName(tool.namespace, tool.name ?? ""));
    const unknown = names.find((name) => !tools.some((tool) => tool.name === name));
    if (unknown !== undefined) throw refuse("tool_choice", `No tool is named \`${unknown.slice(0, 100)}\`.`);
    const allowed = tools.filter((tool) => names.includes(tool.name));
    return { choice: { type: allowed.length === 0 ? "auto" : (choice.mode ?? "auto") }, tools: allowed };
  }
  if (isOwn(choice)) {
    if (choice.name === undefined) throw refuse("tool_choice.name", "Name the tool.");
    const name = joinName(choice.namespace, choice.name);
    if (!tools.some((tool) => tool.name === name))
      throw refuse("tool_choice", `No tool is named \`${name.slice(0, 100)}\`.`);
    return { choice: { type: "named", name }, tools };
  }
  const plain = (["none", "required"] as const).find((type) => type === choice.type);
  return { choice: { type: tools.length === 0 ? "auto" : (plain ?? "auto") }, tools };
}
