import { isObject } from "../../../base/json.ts";

/** Kinds of tools that act on the machine. A step of such a kind is never a call of the client's tools, also if its title is the name of one. */
const acting: ReadonlySet<unknown> = new Set(["edit", "delete", "move", "execute", "read", "search", "fetch"]);

export function isActing(kind: unknown): boolean {
  return acting.has(kind);
}

/** A tool step of an agent, as its `tool_call` has it. */
export interface ToolStep {
  title: string;
  name?: unknown;
  kind?: unknown;
  input?: unknown;
}

/**
 * `server`: the name of our server towards the agent, which is a part of the names of its tools there. Whether an agent's tool step (`title`, `name`, `kind` and `rawInput` of a `tool_call`) is a call of one of the client's tools: by its name, or else by its title. The whole title has to be a
 * name that agents give such a tool, because it may be words of the model (a command line). Source: docs/dev/wire/acp.md, "Names".
 */
export function isOwnTool(
  { title, name, kind, input }: ToolStep,
  { server, tools }: { readonly server: string; readonly tools: readonly string[] },
): boolean {
  const shown = title.trim();
  return tools.some((tool) => {
    const names = forms(server, tool);
    if (typeof name === "string" && names.includes(name)) return true;
    if (acting.has(kind)) return shown === `mcp.${server}.${tool}` && isServerCall(input, server, tool);
    return names.includes(shown);
  });
}

/** Codex reports every call of a server as `execute`, with an input of its own making. A tool that acts needs other members than these. */
function isServerCall(input: unknown, server: string, tool: string): boolean {
  if (!isObject(input) || input["server"] !== server || input["tool"] !== tool) return false;
  return Object.keys(input).every((key) => ["server", "tool", "arguments"].includes(key));
}

function forms(server: string, tool: string): readonly string[] {
  return [
    `${server}_${tool}`,
    `mcp__${server}__${tool}`,
    `mcp_${server}_${tool}`,
    `${server}__${tool}`,
    `${server}/${tool}`,
    `${server}.${tool}`,
    `Tool: ${server}/${tool}`,
    `${tool} (${server} MCP Server)`,
  ];
}
