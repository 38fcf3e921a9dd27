/** The name of our server towards the agent, which is a part of the names of its tools there. */
export const serverName = "millrace";

/** Kinds of tools that act on the machine. A step of such a kind is never a call of the client's tools, also if its title is the name of one. */
const acting: ReadonlySet<unknown> = new Set(["edit", "delete", "move", "execute", "read", "search", "fetch"]);

export function isActing(kind: unknown): boolean {
  return acting.has(kind);
}

/**
 * Whether an agent's tool step is a call of one of the client's tools. The whole title has to be a name that agents give such a tool,
 * because a title may be words of the model (a command line). Source: docs/wire/acp-tools.md, "Names".
 */
export function isOwnTool(step: { readonly title: string; readonly kind: unknown }, tools: readonly string[]): boolean {
  if (acting.has(step.kind)) return false;
  return tools.some((tool) => forms(tool).includes(step.title.trim()));
}

function forms(tool: string): readonly string[] {
  return [
    `${serverName}_${tool}`,
    `mcp__${serverName}__${tool}`,
    `mcp_${serverName}_${tool}`,
    `${serverName}__${tool}`,
    `${serverName}/${tool}`,
    `${serverName}.${tool}`,
    `Tool: ${serverName}/${tool}`,
    `${tool} (${serverName} MCP Server)`,
  ];
}
