import type { Tool } from "../../../log/request.ts";

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
 * Source: docs/wire/clients.md, "Hosted tools".
 */
export function clientTool(type: string | null | undefined, name: string | null | undefined): Tool | undefined {
  const found = type ? known.find((tool) => tool.type.test(type)) : undefined;
  return found === undefined || !name ? undefined : { name, ...found.tool };
}
