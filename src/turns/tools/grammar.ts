import type { ToolChoice } from "../../log/request.ts";
import type { ShownTool } from "./names.ts";

/** The tag of a call. One word, in the prompt, in the history and in the parser. */
export const callTag = "tool_call";
/** The tag of a result that the client sent back. */
export const resultTag = "tool_result";

/** One call as the model is taught to write it: the name in the tag, JSON (or a freeform tool's raw text) between the tags. */
export function writeCall(shownName: string, body: string): string {
  return `<${callTag} name="${shownName}">\n${body}\n</${callTag}>`;
}

/** The rules for calls in this answer; a named choice is given by its shown name. */
export interface CallRules {
  readonly choice: ToolChoice;
  readonly parallel: boolean;
}

/**
 * The text that teaches the grammar, with the tools below it. Empty without tools. `describe` gives a tool's text, so that
 * compaction can shorten it.
 */
export function teachTools(
  tools: readonly ShownTool[],
  rules: CallRules,
  describe: (tool: ShownTool) => string,
): string {
  if (tools.length === 0 || rules.choice.type === "none") return "";
  const example = tools.find((tool) => tool.tool.kind === "function");
  const freeform = tools.some((tool) => tool.tool.kind === "freeform");
  const lines = [
    "# Tools",
    "",
    "The tools below are run for you by the program that shows you this conversation. They replace any other tools you may know of. To call one, write, on lines of their own:",
    "",
    writeCall(
      example?.shownName ?? tools[0]?.shownName ?? "",
      example === undefined ? "its input" : "{ …arguments as JSON… }",
    ),
    "",
    ...(example === undefined
      ? []
      : ["- Between the tags stands one strict JSON object that fits the tool's schema, with nothing around it."]),
    ...(freeform
      ? ["- A tool marked as freeform takes the text between the tags as it stands: no JSON, no quotes, no code fence."]
      : []),
    "- You may write text before a call. Write nothing after the last one: stop there, and the results come in the next message.",
    rules.parallel
      ? "- Calls that do not depend on each other go into one answer, one after the other."
      : "- At most one call in an answer.",
    `- Results come as <${resultTag} name="…" call="1"> in the order of your calls. Never write one yourself.`,
    "- Do not announce a call without making it. To show this syntax without calling, put it in backticks inside a sentence.",
    ...choiceLine(rules.choice),
    "",
    ...tools.map(describe),
  ];
  return lines.join("\n");
}

function choiceLine(choice: ToolChoice): readonly string[] {
  switch (choice.type) {
    case "required":
      return ["- This answer must call at least one tool."];
    case "named":
      return [`- This answer must call the tool ${choice.name}, and no other.`];
    case "auto":
    case "none":
      return [];
    default:
      return choice satisfies never;
  }
}
