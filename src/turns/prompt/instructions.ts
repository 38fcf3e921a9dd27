import { isObject, type JsonObject, writeJson } from "../../base/json.ts";
import type { Message, Part, ResponseFormat, TurnRequest } from "../../log/request.ts";
import { teachTools } from "../tools/grammar.ts";
import type { ShownTool, ToolNames } from "../tools/names.ts";

/** A text block that Claude Code puts before its system prompt: client metadata, new in every conversation, no instruction. */
const billingHeader = /^\s*x-anthropic-billing-header\b/i;

/** The texts of a message that are meant for the model, in order. Source: docs/dev/wire/clients.md, "Messages". */
export function modelTexts(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) => (part.type === "text" && !billingHeader.test(part.text) ? [part.text] : []));
}

/**
 * Where the leading part of a conversation ends: system messages before the first answer are instructions; later ones
 * stay where the client put them.
 */
export function splitSystem(messages: readonly Message[]): {
  readonly system: readonly string[];
  readonly rest: readonly Message[];
} {
  const firstAnswer = messages.findIndex((message) => message.role === "assistant" || message.role === "tool");
  const border = firstAnswer === -1 ? messages.length : firstAnswer;
  const leads = (message: Message, index: number) => message.role === "system" && index < border;
  return {
    system: messages.filter(leads).flatMap((message) => modelTexts(message.parts)),
    rest: messages.filter((message, index) => !leads(message, index)),
  };
}

/** The tools' part of the instructions, shortened by the given steps. Empty when there is nothing to call. */
export function toolInstructions(
  request: TurnRequest,
  names: ToolNames,
  mark: string,
  steps: ReadonlySet<CompactionStep>,
): string {
  const { toolChoice } = request;
  const choice = toolChoice.type === "named" ? { ...toolChoice, name: names.shown(toolChoice.name) } : toolChoice;
  const rules = { mark, choice, parallel: request.parallelToolCalls };
  return teachTools(names.tools, rules, (tool) => describeTool(tool, steps));
}

/** The instructions for the form of the answer; empty for plain text. They are part of this turn only. */
export function formatInstructions(format: ResponseFormat, canCall: boolean): string {
  const when = canCall ? "When you answer without calling a tool, the answer is" : "Your whole answer is";
  const how = `${when} one JSON object and nothing else: strict JSON, no prose before or after it, no code fence.`;
  switch (format.type) {
    case "text":
      return "";
    case "json_object":
      return `# Form of the answer\n\n${how}`;
    case "json_schema":
      return `# Form of the answer\n\n${how.replace("JSON object", "JSON value")} It fits this JSON Schema (${format.name}):\n${writeJson(format.schema)}`;
    default:
      return format satisfies never;
  }
}

/** The steps that shorten the tools' texts, in order of use; the names are those of the `x-millrace-compacted` header. */
export const compactionSteps = ["tool-examples", "tool-descriptions", "optional-field-prose", "field-prose"] as const;
export type CompactionStep = (typeof compactionSteps)[number];

const shortDescription = 240;

/** A tool as the prompt writes it, with the given steps of compaction applied. Pure; the schema's constraints always stay. */
export function describeTool(shown: ShownTool, steps: ReadonlySet<CompactionStep>): string {
  const { tool } = shown;
  let description = tool.description.trim();
  if (steps.has("tool-examples")) description = withoutExamples(description);
  if (steps.has("tool-descriptions")) description = firstSentences(description);
  const head = `## ${shown.shownName}${tool.kind === "freeform" ? " (freeform)" : ""}`;
  const lines = description === "" ? [head] : [head, description];
  if (tool.kind === "freeform") return `${lines.join("\n")}\n`;
  const schema = steps.size === 0 ? shown.shownParameters : compactSchema(shown.shownParameters, steps);
  return `${lines.join("\n")}\nSchema: ${writeJson(schema)}\n`;
}

function withoutExamples(description: string): string {
  return description
    .replace(/<(examples?)\b[^>]*>[\s\S]*?<\/\1>/gi, "")
    .replace(/```[\s\S]*?```/g, "")
    .replace(/^[ \t]*(?:#+ *)?(?:usage )?examples?\b[^\n]*:?[ \t]*\n(?:(?![ \t]*\n)[^\n]*\n?)*/gim, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

function firstSentences(description: string): string {
  const paragraph = description.split(/\n\s*\n/)[0] ?? "";
  if (paragraph.length <= shortDescription) return paragraph;
  const cut = paragraph.slice(0, shortDescription);
  const end = Math.max(cut.lastIndexOf(". "), cut.lastIndexOf(".\n"));
  return end > 40 ? cut.slice(0, end + 1) : `${cut.slice(0, cut.lastIndexOf(" ")).trimEnd()} …`;
}

/** Keys whose value maps names to schemas, so that a *property* called `description` is not taken for prose. */
const mapsOfSchemas = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
/** Keys whose value is data, not a schema. */
const data = new Set(["const", "enum", "default", "required"]);

function compactSchema(schema: JsonObject, steps: ReadonlySet<CompactionStep>, optional = false): JsonObject {
  const result: Record<string, unknown> = {};
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const dropProse = steps.has("field-prose") || (optional && steps.has("optional-field-prose"));
  for (const [key, value] of Object.entries(schema)) {
    if (steps.has("tool-examples") && (key === "examples" || key === "example")) continue;
    if (steps.size > 0 && (key === "$schema" || key === "$comment" || key === "title") && typeof value === "string")
      continue;
    if (dropProse && key === "description" && typeof value === "string") continue;
    if (data.has(key)) result[key] = value;
    else if (mapsOfSchemas.has(key) && isObject(value)) {
      const members = Object.entries(value).map(([name, member]) => [
        name,
        isObject(member)
          ? compactSchema(member, steps, optional || (key === "properties" && !required.has(name)))
          : member,
      ]);
      result[key] = Object.fromEntries(members);
    } else if (Array.isArray(value)) {
      result[key] = value.map((item: unknown) => (isObject(item) ? compactSchema(item, steps, optional) : item));
    } else result[key] = isObject(value) ? compactSchema(value, steps, optional) : value;
  }
  return result;
}
