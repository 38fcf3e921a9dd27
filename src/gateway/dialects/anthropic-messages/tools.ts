import { z } from "zod";
import type { Tool } from "../../../log/request.ts";
import { refuse } from "../parse-body.ts";
import type { ToolChoiceBody } from "../tool-choice.ts";
import { clientTool, hostedType } from "../tool-forms.ts";

export const toolsSchema = z.array(z.looseObject({ type: z.string().nullish(), name: z.string().nullish() })).nullish();

const right = { member: "input_schema", form: '{"name":"…","description":"…","input_schema":{…}}' } as const;

/**
 * A tool with an `input_schema` belongs to the client, for any type; so do the tools whose form the API defines and that the client
 * runs (`bash_…`, `text_editor_…`, `memory_…`). Any other tool (`web_search_…`) is run by the vendor.
 *
 * @throws MillraceError `invalid_request` with the path of a tool that is wrong.
 */
export function parseTools(
  given: z.infer<typeof toolsSchema>,
  choice: ToolChoiceBody,
): {
  readonly tools: readonly Tool[];
  readonly ignored: readonly string[];
  /** The choice names a tool that was left out. */
  readonly demandsIgnored: boolean;
} {
  const tools: Tool[] = [];
  const ignored = new Set<string>();
  for (const [i, tool] of (given ?? []).entries()) {
    const own = vendorsTool(tool) ?? clientTool(tool, `tools[${i}]`, right);
    if (own === undefined) ignored.add(hostedType(tool));
    else if (own.kind === "function") tools.push(own);
    else throw refuse(`tools[${i}].input_schema`, "A tool needs a JSON Schema for its input.");
  }
  const named = typeof choice === "object" ? choice?.name : undefined;
  const isHosted = named !== undefined && (given ?? []).some(({ name }) => name === named);
  return { tools, ignored: [...ignored], demandsIgnored: isHosted && !tools.some(({ name }) => name === named) };
}

const text = { type: "string" };
const path = { type: "string", description: "An absolute path." };

/** The parameters of all commands, by name. */
const parameters: Readonly<Record<string, object>> = {
  path,
  file_text: text,
  old_str: { type: "string", description: "The text to replace, which is in the file exactly once." },
  new_str: text,
  insert_line: { type: "integer" },
  insert_text: text,
  old_path: path,
  new_path: path,
};
const lines = { type: "array", items: { type: "integer" }, description: "First and last line; -1 is the end." };

/** A tool that works on files: its commands by name, with what each needs. */
function onFiles(description: string, commands: Readonly<Record<string, readonly string[]>>): Omit<Tool, "name"> {
  const needs = Object.entries(commands).map(([name, needed]) => `${name} (${needed.join(", ")})`);
  const needed = new Set(Object.values(commands).flat());
  const properties = {
    command: { type: "string", enum: Object.keys(commands) },
    ...Object.fromEntries([...needed].map((name) => [name, parameters[name]])),
    view_range: lines,
  };
  return {
    kind: "function",
    description: `${description} Commands, and what they need: ${needs.join("; ")}.`,
    parameters: { type: "object", properties, required: ["command"] },
  };
}

const shell: Omit<Tool, "name"> = {
  kind: "function",
  description: "Runs a command in a shell that lives on between calls. Send `restart` alone to begin with a new one.",
  parameters: { type: "object", properties: { command: text, restart: { type: "boolean" } } },
};

const editing = {
  view: ["path"],
  create: ["path", "file_text"],
  str_replace: ["path", "old_str", "new_str"],
  insert: ["path", "insert_line", "insert_text"],
};
const editor = onFiles("Looks at files and changes them.", editing);
/** The editor of earlier dates takes an insertion as `new_str`, and takes back the last change. */
const earlierEditor = onFiles("Looks at files and changes them.", {
  ...editing,
  insert: ["path", "insert_line", "new_str"],
  undo_edit: ["path"],
});

const memory = onFiles("Keeps notes between conversations, as files below /memories. Look there before you begin.", {
  ...editing,
  delete: ["path"],
  rename: ["old_path", "new_path"],
});

const known: readonly { readonly type: RegExp; readonly tool: Omit<Tool, "name"> }[] = [
  { type: /^bash_\d{8}$/, tool: shell },
  { type: /^text_editor_2024\d{4}$|^text_editor_20250124$/, tool: earlierEditor },
  { type: /^text_editor_\d{8}$/, tool: editor },
  { type: /^memory_\d{8}$/, tool: memory },
];

/**
 * A tool that the API defines and the client runs: a request names only its type, so its form comes from here. Undefined for others.
 * Source: docs/dev/wire/clients.md, "Hosted tools".
 */
function vendorsTool({
  type,
  name,
  input_schema: schema,
}: NonNullable<z.infer<typeof toolsSchema>>[number]): Tool | undefined {
  const found = type && !schema ? known.find((tool) => tool.type.test(type)) : undefined;
  return found === undefined || !name ? undefined : { name, ...found.tool };
}
