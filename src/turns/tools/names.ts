import type { Tool } from "../../log/request.ts";
import { compileSchema, type SchemaCheck } from "./arguments/schema-check.ts";
import { shownSchema } from "./shown-schema.ts";

/** Names that stand in a tag as they are. */
const plainName = /^[A-Za-z0-9_.:/-]{1,128}$/;

/** A tool as the prompt shows it, and the way back to the client's own. */
export interface ShownTool {
  /** The name taught to the model and read from its answer. */
  readonly shownName: string;
  /** The JSON Schema taught to the model: always of an object. */
  readonly shownParameters: Readonly<Record<string, unknown>>;
  /** Set when the client's schema is not of an object: its value travels under this key. */
  readonly wrappedIn: string | undefined;
  readonly tool: Tool;
  /** The check of the shown schema, compiled when it is first needed. */
  check(): SchemaCheck;
}

/** The tools of one request under the names and schemas that the prompt uses. Reversible: `shownName` is unique. */
export interface ToolNames {
  readonly tools: readonly ShownTool[];
  /** The prompt's name for a client's tool; for a tool that is not offered (in old history), a plain form of the name. */
  shown(clientName: string): string;
  byShownName(name: string): ShownTool | undefined;
}

/** Maps the client's tools to their names in the prompt. Pure and deterministic; two tools of one name keep the first. */
export function mapToolNames(tools: readonly Tool[]): ToolNames {
  const byShown = new Map<string, ShownTool>();
  const byClient = new Map<string, string>();
  for (const tool of tools) {
    if (byClient.has(tool.name)) continue;
    const shownName = freeName(plainForm(tool.name), byShown);
    byClient.set(tool.name, shownName);
    const schema = shownSchema(tool);
    let check: SchemaCheck | undefined;
    byShown.set(shownName, {
      shownName,
      ...schema,
      tool,
      check: () => (check ??= compileSchema(schema.shownParameters)),
    });
  }
  return {
    tools: [...byShown.values()],
    shown: (name) => byClient.get(name) ?? plainForm(name),
    byShownName: (name) => byShown.get(name),
  };
}

function plainForm(name: string): string {
  if (plainName.test(name)) return name;
  const plain = name
    .slice(0, 1_000)
    .replace(/[^A-Za-z0-9_.:/-]+/g, "_")
    .slice(0, 120); // a name may have megabytes
  return plain === "" || plain === "_" ? "tool" : plain;
}

function freeName(wanted: string, taken: ReadonlyMap<string, unknown>): string {
  if (!taken.has(wanted)) return wanted;
  for (let n = 2; ; n++) if (!taken.has(`${wanted}_${n}`)) return `${wanted}_${n}`;
}
