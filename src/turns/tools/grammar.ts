import { createHash } from "node:crypto";
import type { Message, ToolChoice, TurnRequest } from "../../log/request.ts";
import type { ShownTool } from "./names.ts";

/** The tag of a call. One word, in the prompt, in the history and in the parser. The turn's mark follows it. */
export const callTag = "tool_call";
/** The tag of a result that the client sent back; the turn's mark follows it. */
export const resultTag = "tool_result";

const letters = "abcdefghjkmnpqrstuvwxyz23456789";
const markLength = 7;

/**
 * The mark of a turn: seven characters (34 bits) that end the name of every tag in its prompt. `seed` is the turn's random id, so the
 * same turn has the same mark after a restart, and nobody can write it into a text beforehand. No text of the request contains it.
 */
export function markOf({ messages }: Pick<TurnRequest, "messages">, seed: string): string {
  const texts = messages.flatMap((message) => textsOf(message));
  for (let n = 0; ; n++) {
    const digest = createHash("sha256").update(`${seed} ${n}`).digest().subarray(0, markLength);
    const mark = [...digest].map((byte) => letters.charAt(byte % letters.length)).join("");
    if (!texts.some((text) => text.includes(mark))) return mark;
  }
}

/** The texts of a message, and the arguments of its calls. */
export function textsOf(message: Message): readonly string[] {
  const texts = message.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return message.role === "assistant" ? [...texts, ...message.toolCalls.map((call) => call.arguments)] : texts;
}

/** One call as the model is taught to write it: the name in the tag, JSON (or a freeform tool's raw text) between the tags. */
export function writeCall(mark: string, shownName: string, body: string): string {
  return `<${callTag}-${mark} name="${shownName}">\n${body}\n</${callTag}-${mark}>`;
}

/**
 * The text that teaches the grammar, with the tools below it. Empty without tools. `describe` gives a tool's text, so that
 * compaction can shorten it.
 */
export function teachTools(
  tools: readonly ShownTool[],
  rules: {
    readonly mark: string;
    readonly choice: ToolChoice;
    readonly parallel: boolean;
  },
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
      rules.mark,
      example?.shownName ?? tools[0]?.shownName ?? "",
      example === undefined ? "its input" : "{ …arguments as JSON… }",
    ),
    "",
    `- The tags end in -${rules.mark} in this answer. Copy that exactly: a tag without it, or with another ending, is ordinary text.`,
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
    `- Results come as <${resultTag}-${rules.mark} name="…" call="1"> in the order of your calls. Never write one yourself.`,
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
