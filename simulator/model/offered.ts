import { nowOf } from "./conversation.ts";

/** A tool as the instructions describe it to the model. */
export interface OfferedTool {
  readonly name: string;
  /** JSON Schema of its arguments; undefined for a tool that takes plain text. */
  readonly schema: Readonly<Record<string, unknown>> | undefined;
}

/** The tools and rules of the instructions, read as a model reads them: from their text alone. */
export interface Offer {
  readonly tools: readonly OfferedTool[];
  /** The tag that the shown example call uses. */
  readonly callTag: string;
  readonly parallel: boolean;
  /** A call is demanded: of any tool (true), or of one by its name. */
  readonly mustCall: boolean | string;
  /** The answer has to be JSON: of this schema, or of any shape. */
  readonly form: { readonly schema: Readonly<Record<string, unknown>> | undefined } | undefined;
}

const header = /^## ([A-Za-z0-9_.:/-]{1,128})( \(freeform\))?$/;

/** Reads the offer out of a prompt's instructions. Nothing offered gives no tools. A later `text` may name another tag for calls. */
export function readOffer(instructions: string, text = ""): Offer {
  const tools = lastSection(instructions, "# Tools");
  const form = lastSection(instructions, "# Form of the answer");
  const example = /^<([\w-]+) name="[^"]*">\n[^\n]*\n<\/\1>$/m.exec(tools);
  const named = /^- This answer must call the tool (\S+), and no other\.$/m.exec(tools)?.[1];
  return {
    tools: example === null ? [] : readTools(tools),
    callTag: [...nowOf(text).matchAll(/write calls as <([\w-]+) name=/g)].at(-1)?.[1] ?? example?.[1] ?? "tool_call",
    parallel: !/^- At most one call/m.test(tools),
    mustCall: named ?? /^- This answer must call at least one tool\.$/m.test(tools),
    form: form === "" ? undefined : { schema: parseObject(/^\{.*\}$/m.exec(form)?.[0]) },
  };
}

/** From the last line with this heading to the next line with the other heading, or to the end. */
function lastSection(text: string, heading: string): string {
  const lines = text.split("\n");
  const start = lines.lastIndexOf(heading);
  if (start === -1) return "";
  const after = lines.findIndex((line, i) => i > start && (line === "# Form of the answer" || line === "# Tools"));
  return lines.slice(start + 1, after === -1 ? undefined : after).join("\n");
}

/** Every tool begins with its heading; a description may contain headings, so a schema ends a tool. */
function readTools(section: string): OfferedTool[] {
  const tools: OfferedTool[] = [];
  let open: string | undefined;
  for (const line of section.split("\n")) {
    const heading = header.exec(line);
    if (open === undefined && heading?.[1] !== undefined) {
      if (heading[2] === undefined) open = heading[1];
      else tools.push({ name: heading[1], schema: undefined });
    } else if (open !== undefined && line.startsWith("Schema: {")) {
      tools.push({ name: open, schema: parseObject(line.slice("Schema: ".length)) ?? {} });
      open = undefined;
    }
  }
  return tools;
}

function parseObject(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined; // an object of JSON
  } catch {
    return undefined; // a line that only looks like JSON
  }
}
