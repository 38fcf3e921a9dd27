import { isObject, type JsonObject } from "../../../base/json.ts";

/** Blocks that change the tools from their place in the conversation on, alone or inside another one. */
const changes = new Set(["tool_addition", "tool_removal"]);
const holders = new Set(["mid_conv_system", "compaction"]);

/** The content of a message as blocks. The blocks inside a `mid_conv_system` block stand in its place. */
export function blocksOf(content: unknown): readonly unknown[] {
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content ?? []].flat();
  return blocks.flatMap((block) =>
    typeOf(block) === "mid_conv_system" && isObject(block) && Array.isArray(block["content"])
      ? block["content"]
      : [block],
  );
}

export function isDirective(block: unknown): boolean {
  return changes.has(typeOf(block));
}

function typeOf(block: unknown): string {
  return isObject(block) && typeof block["type"] === "string" ? block["type"] : "";
}

/** Reads the directives of a conversation. One that cannot be read changes nothing. Source: docs/dev/wire/clients.md, "Messages". */
export function readDirectives(messages: readonly unknown[]): {
  readonly effort: unknown;
  /** Tools by name: those that were added, and those that were taken out. */
  readonly tools: ReadonlyMap<string, boolean>;
  /** Tools that were defined in the conversation, as `tools` of a request has them. */
  readonly defined: readonly JsonObject[];
} {
  let effort: unknown;
  const tools = new Map<string, boolean>();
  const defined: JsonObject[] = [];
  for (const { role, output_config: config, content } of messages.filter(isObject)) {
    if ((role === "system" || role === "developer") && isObject(config)) effort = config["effort"] ?? effort;
    for (const { type, tool } of blocksOf(content).flatMap(changesIn)) {
      if (!isObject(tool)) continue;
      const definition = isObject(tool["definition"]) ? tool["definition"] : undefined;
      const name = definition?.["name"] ?? tool["name"] ?? tool["tool_name"];
      if (typeof name !== "string") continue;
      if (definition !== undefined) defined.push(definition);
      tools.set(name, type === "tool_addition");
    }
  }
  return { effort, tools, defined };
}

function changesIn(block: unknown): readonly JsonObject[] {
  if (!isObject(block)) return [];
  if (isDirective(block)) return [block];
  const inner = holders.has(typeOf(block)) ? block["tool_changes"] : undefined;
  return Array.isArray(inner) ? inner.filter(isDirective).filter(isObject) : [];
}
