import { z } from "zod";
import { writeJson } from "../../../base/json.ts";
import type { Message, Part, ToolCall } from "../../../log/request.ts";
import { content, parseContent } from "../content.ts";
import type { History, WireMessage } from "../history.ts";
import { parseAt, resultContent, textParts } from "../parse-body.ts";

const functionCall = z.object({
  id: z.string().min(1),
  type: z.literal("function").optional(),
  function: z.object({
    name: z.string().min(1),
    arguments: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
  }),
});
const customCall = z.object({
  id: z.string().min(1),
  type: z.literal("custom"),
  custom: z.object({ name: z.string().min(1), input: z.string() }),
});

const plainMessage = z.object({ content: content.nullish() });
const calls = z.object({
  tool_calls: z.array(z.union([functionCall, customCall])).nullish(),
  function_call: z.object({ name: z.string().min(1), arguments: z.string() }).nullish(),
});
const toolMessage = z.object({ tool_call_id: z.string().nullish(), name: z.string().nullish() });
const functionMessage = z.object({ name: z.string().min(1) });

type Content = string | readonly unknown[];

/** One message by its role. Throws `invalid_request` with the path. */
export function parseChatMessage(given: WireMessage, path: string, history: History): Message[] {
  const read = (written: Content | null | undefined) => parseContent(written, `${path}.content`, history);
  const result = () => read(resultContent(given["content"]));
  switch (given.role) {
    case "system":
    case "developer":
    case "user": {
      const role = given.role === "user" ? "user" : "system";
      const message = history.read(`message of ${given.role}`, () => parseAt(plainMessage, given, path), undefined);
      return message === undefined ? [] : [{ role, parts: read(message.content) }];
    }
    case "assistant": {
      const written = history.read("content", () => parseAt(plainMessage, given, path).content, undefined);
      return [parseAssistant(given, read(written), parseAt(calls, given, path))];
    }
    case "tool": {
      const { tool_call_id: callId, name } = parseAt(toolMessage, given, path);
      return [{ role: "tool", callId: callId ?? "", ...(name ? { name } : {}), parts: result(), isError: false }];
    }
    case "function": {
      const { name } = parseAt(functionMessage, given, path);
      return [{ role: "tool", callId: legacyCallId(name), name, parts: result(), isError: false }];
    }
    default:
      history.leaveOut(`message of ${given.role}`);
      return [];
  }
}

function parseAssistant(
  { reasoning_content: content, reasoning, refusal }: WireMessage,
  parts: readonly Part[],
  { tool_calls: made, function_call: legacy }: z.infer<typeof calls>,
): Message {
  const thinking = [content, reasoning].find((text) => typeof text === "string" && text !== "");
  const toolCalls = (made ?? []).map(parseCall);
  if (legacy) {
    const { name, arguments: written } = legacy;
    toolCalls.push({ callId: legacyCallId(name), name, arguments: written, kind: "function" });
  }
  return {
    role: "assistant",
    parts: typeof refusal === "string" ? [...parts, ...textParts([refusal])] : parts,
    ...(typeof thinking === "string" ? { thinking } : {}),
    toolCalls,
  };
}

function parseCall(call: z.infer<typeof functionCall> | z.infer<typeof customCall>): ToolCall {
  if ("custom" in call) {
    return { callId: call.id, name: call.custom.name, arguments: call.custom.input, kind: "freeform" };
  }
  const given = call.function.arguments ?? "{}";
  const written = typeof given === "string" ? given : writeJson(given);
  return {
    callId: call.id,
    name: call.function.name,
    arguments: written.trim() === "" ? "{}" : written,
    kind: "function",
  };
}

/** The form before tools had no call ids: the function's name pairs a call with its result. */
function legacyCallId(name: string): string {
  return `function_${name}`;
}
