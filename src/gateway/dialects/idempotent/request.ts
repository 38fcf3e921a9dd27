import { isObject, parseJson } from "../../../base/json.ts";
import type { Message, Tool, TurnRequest } from "../../../log/request.ts";
import {
  type ConversationMessage,
  type McpTool,
  ConversationMessage_MessageType as MessageType,
  type StreamUnifiedChatRequest,
} from "../../../proto/aiserver/v1/chat_pb.ts";
import { answerMessage, type Block } from "../answer.ts";
import { nameAModel, refuse } from "../parse-body.ts";
import type { ToolResult } from "./client-message.ts";
import { refuseImages } from "./unread.ts";

/** By `thinking_level`. Source: docs/dev/wire/idempotent-streams.md, "Messages". */
const efforts = { 1: "medium", 2: "high" } as const;

/**
 * A chat request. @throws MillraceError `invalid_request` with the field at fault.
 * Source: docs/dev/wire/idempotent-streams.md, "Messages".
 */
export function parseChat(chat: StreamUnifiedChatRequest): TurnRequest {
  const model = chat.modelDetails?.modelName?.trim() ?? "";
  if (model === "") throw refuse("model_details.model_name", nameAModel());
  refuseImages(chat);
  const told: readonly Message[] =
    (chat.systemPrompt ?? "") === ""
      ? []
      : [{ role: "system", parts: [{ type: "text", text: chat.systemPrompt ?? "" }] }];
  const messages = [...told, ...chat.conversation.flatMap(parseMessage)];
  if (!messages.some(({ role }) => role === "user")) {
    throw refuse("conversation", "At least one message of type human is needed.");
  }
  const { thinkingLevel } = chat;
  const effort = thinkingLevel === 1 || thinkingLevel === 2 ? { reasoningEffort: efforts[thinkingLevel] } : {};
  return {
    model,
    messages,
    tools: chat.mcpTools.map(parseTool),
    toolChoice: { type: chat.shouldDisableTools === true ? "none" : "auto" },
    parallelToolCalls: true,
    responseFormat: { type: "text" },
    stop: [],
    ...effort,
  };
}

/** The request that continues after an answer whose calls all have their results. Results are in the order of the calls. */
export function continueRequest(
  request: TurnRequest,
  answer: readonly Block[],
  results: ReadonlyMap<string, ToolResult>,
): TurnRequest {
  const calls = answer.filter((block) => block.kind === "tool_call");
  const answered = answerMessage(answer.filter(({ kind }) => kind !== "thinking"));
  const given = calls.map(({ callId, name }): Message => {
    const result = results.get(callId);
    return {
      role: "tool",
      callId,
      name,
      parts: [{ type: "text", text: result?.text ?? "" }],
      isError: result?.isError ?? false,
    };
  });
  return { ...request, messages: [...request.messages, answered, ...given] };
}

function parseMessage({ type, text, thinking, allThinkingBlocks }: ConversationMessage): Message[] {
  if (text === "") return [];
  const parts = [{ type: "text" as const, text }];
  if (type !== MessageType.AI) return [{ role: "user", parts }];
  const thought = thinking?.text ?? allThinkingBlocks.map((block) => block.text).join("\n\n");
  return [{ role: "assistant", parts, toolCalls: [], ...(thought === "" ? {} : { thinking: thought }) }];
}

function parseTool({ name, description, parameters }: McpTool, index: number): Tool {
  const at = `mcp_tools[${index}]`;
  if (name === "") throw refuse(`${at}.name`, "A tool needs a name.");
  return { name, description, kind: "function", parameters: parseSchema(parameters, `${at}.parameters`) };
}

/** A tool without parameters takes an empty object. */
function parseSchema(text: string, param: string): Readonly<Record<string, unknown>> {
  if (text.trim() === "") return { type: "object", properties: {} };
  let schema: unknown;
  try {
    schema = parseJson(text);
  } catch {
    throw refuse(param, "Not JSON.", "Send a JSON Schema as text.");
  }
  if (!isObject(schema)) {
    throw refuse(param, "Not a JSON object.", "Send a JSON Schema as text.");
  }
  return schema;
}
