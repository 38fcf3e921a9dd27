import type { TurnId } from "../../../base/ids.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { Message, Part } from "../../../log/request.ts";
import { wireId } from "../wire-id.ts";

/** Messages of a request as the input items that they came from, each with its own id. */
export function inputItems(messages: readonly Message[], turnId: TurnId): readonly JsonObject[] {
  const items = messages.flatMap(itemsOf);
  return items.map((item, i) => ({ id: `${wireId("item_", turnId)}_${i}`, ...item }));
}

function itemsOf(message: Message): JsonObject[] {
  if (message.role === "tool") {
    return [
      { type: "function_call_output", status: "completed", call_id: message.callId, output: outputOf(message.parts) },
    ];
  }
  const kind = message.role === "assistant" ? "output_text" : "input_text";
  const content = message.parts.map((part) => partOf(part, kind));
  const said = content.length === 0 ? [] : [{ type: "message", status: "completed", role: message.role, content }];
  if (message.role !== "assistant") return said;
  const thought = message.thinking
    ? [{ type: "reasoning", summary: [{ type: "summary_text", text: message.thinking }] }]
    : [];
  const calls = message.toolCalls.map((call) =>
    call.kind === "freeform"
      ? { type: "custom_tool_call", status: "completed", call_id: call.callId, name: call.name, input: call.arguments }
      : {
          type: "function_call",
          status: "completed",
          call_id: call.callId,
          name: call.name,
          arguments: call.arguments,
        },
  );
  return [...thought, ...said, ...calls];
}

function partOf(part: Part, kind: "input_text" | "output_text"): JsonObject {
  if (part.type === "image") {
    return { type: "input_image", detail: "auto", image_url: `data:${part.mimeType};base64,${part.base64}` };
  }
  return kind === "output_text" ? { type: kind, text: part.text, annotations: [] } : { type: kind, text: part.text };
}

function outputOf(parts: readonly Part[]): unknown {
  const texts = parts.every((part) => part.type === "text");
  if (!texts) return parts.map((part) => partOf(part, "input_text"));
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
