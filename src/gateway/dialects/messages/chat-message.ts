import { isObject } from "../../../base/json.ts";
import type { Message, Part, ToolCall } from "../../../log/request.ts";
import { objectsIn, readCall, readResult } from "../calls.ts";
import { parseContent } from "../content.ts";
import { bareImages } from "../files.ts";
import type { History, WireMessage } from "../history.ts";
import { textParts } from "../parse-body.ts";

/** One message by its role. Ollama has its pictures beside the content, and its own names for thinking and for the tool of a result. */
export function parseChatMessage(given: WireMessage, path: string, history: History): Message[] {
  const pictures = bareImages(history, given["images"]);
  const parts = () => [...parseContent(given["content"], `${path}.content`, history), ...pictures];
  switch (given.role) {
    case "system":
    case "developer":
    case "user":
      return [{ role: given.role === "user" ? "user" : "system", parts: parts() }];
    case "assistant":
      return [parseAssistant(given, parts(), history)];
    case "tool":
    case "function": {
      const { tool_name: tool, name = tool, content: inside } = given;
      const id = given.role === "tool" ? given["tool_call_id"] : legacyCallId(name);
      const result = readResult({ id, name, content: inside }, `${path}.content`, history);
      return [{ ...result, parts: [...result.parts, ...pictures] }];
    }
    default:
      history.leaveOut(`message of ${given.role}`);
      return [];
  }
}

function parseAssistant(
  {
    reasoning_content: content,
    reasoning,
    thinking: ofOllama,
    refusal,
    tool_calls: made,
    function_call: legacy,
  }: WireMessage,
  parts: readonly Part[],
  history: History,
): Message {
  const thinking = [content, reasoning, ofOllama].find((text) => typeof text === "string" && text !== "");
  const toolCalls = callsIn(made, history);
  if (isObject(legacy)) {
    const { name, arguments: input } = legacy;
    toolCalls.push(...readCall({ id: legacyCallId(name), name, input }, history));
  }
  return {
    role: "assistant",
    parts: typeof refusal === "string" ? [...parts, ...textParts([refusal])] : parts,
    ...(typeof thinking === "string" ? { thinking } : {}),
    toolCalls,
  };
}

/** A call whose kind is not known is left out. */
function callsIn(list: unknown, history: History): ToolCall[] {
  return objectsIn(list).flatMap(({ id, type, function: called, custom }) => {
    if (isObject(custom))
      return readCall({ id, name: custom["name"], input: custom["input"], kind: "freeform" }, history);
    if (isObject(called)) return readCall({ id, name: called["name"], input: called["arguments"] }, history);
    history.leaveOut(typeof type === "string" ? type : "tool call");
    return [];
  });
}

/** The form before tools had no call ids: the function's name pairs a call with its result. */
function legacyCallId(name: unknown): string {
  return typeof name === "string" ? `function_${name}` : "";
}
