import { writeJson } from "../../base/json.ts";
import type { Message, Part, ResponseFormat, TurnRequest } from "../../log/request.ts";
import { teachTools } from "../tools/grammar.ts";
import type { ShownTool, ToolNames } from "../tools/names.ts";
import { fitSchema, fitText } from "./text-room.ts";

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

/** The tools' part of the instructions, their texts in their room. Empty when there is nothing to call. */
export function toolInstructions(request: TurnRequest, names: ToolNames, mark: string, room?: number): string {
  const { toolChoice } = request;
  const choice = toolChoice.type === "named" ? { ...toolChoice, name: names.shown(toolChoice.name) } : toolChoice;
  const rules = { mark, choice, parallel: request.parallelToolCalls };
  return teachTools(names.tools, rules, (tool) => describeTool(tool, room));
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

/** A tool as the prompt writes it. `room`: the longest that each of its texts may be, in characters. The rules of its schema always stay. */
export function describeTool({ shownName, shownParameters, tool }: ShownTool, room?: number): string {
  const whole = tool.description.trim();
  const description = room === undefined ? whole : fitText(whole, room);
  const head = `## ${shownName}${tool.kind === "freeform" ? " (freeform)" : ""}`;
  const lines = description === "" ? [head] : [head, description];
  if (tool.kind === "freeform") return `${lines.join("\n")}\n`;
  return `${lines.join("\n")}\nSchema: ${writeJson(room === undefined ? shownParameters : fitSchema(shownParameters, room))}\n`;
}
