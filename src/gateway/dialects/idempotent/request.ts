import { base64Encode } from "@bufbuild/protobuf/wire";
import { z } from "zod";
import { isObject, parseJson } from "../../../base/json.ts";
import type { Message, Part, ReasoningEffort, ResponseFormat, Tool, TurnRequest } from "../../../log/request.ts";
import {
  type ConversationMessage,
  type McpTool,
  ConversationMessage_MessageType as MessageType,
  type StreamUnifiedChatRequest,
} from "../../../proto/aiserver/v1/chat_pb.ts";
import { answerMessage, type Block } from "../answer.ts";
import { parseContent } from "../content.ts";
import { History } from "../history.ts";
import { effortNamed, nameAModel, outputLimit, parseAt, refuse, stopSequences } from "../parse-body.ts";
import { formatIn, formatMembers } from "../response-format.ts";
import type { ToolResult } from "./client-message.ts";
import { refuseImages } from "./unread.ts";

/** By `thinking_level`. Source: docs/dev/wire/idempotent-streams.md, "Messages". */
const efforts: Readonly<Record<number, ReasoningEffort>> = { 1: "medium", 2: "high" };

const formatSchema = z.object({ response_format: formatMembers.response_format });

/** The contents of a conversation's messages, in order, with files as Messages write them: what reads the files of other APIs reads these. */
export function contentsOf(
  { conversation }: Pick<StreamUnifiedChatRequest, "conversation">,
  encode: (data: Uint8Array) => string = base64Encode, // which takes a second for 20 MB
): readonly MessageContent[] {
  return conversation.map(({ text, files }) => {
    const parts = files.map(({ name, mimeType, data }) => {
      const source = { type: "base64", media_type: mimeType, data: encode(data) };
      return { type: "document", title: name, source };
    });
    return { content: [...(text === "" ? [] : [{ type: "text", text }]), ...parts] };
  });
}

interface MessageContent {
  readonly content: readonly unknown[];
}

/**
 * A chat request. `contents`: those of its messages, where their files were read before. @throws MillraceError `invalid_request` with the
 * field at fault. Source: docs/dev/wire/idempotent-streams.md, "Messages".
 */
export function parseChat(chat: StreamUnifiedChatRequest, contents = contentsOf(chat)): TurnRequest {
  const model = chat.modelDetails?.modelName?.trim() ?? "";
  if (model === "") throw refuse("model_details.model_name", nameAModel());
  refuseImages(chat);
  const told: readonly Message[] =
    (chat.systemPrompt ?? "") === ""
      ? []
      : [{ role: "system", parts: [{ type: "text", text: chat.systemPrompt ?? "" }] }];
  const messages = [...told, ...parseConversation(chat, contents)];
  if (!messages.some(({ role }) => role === "user")) {
    throw refuse("conversation", "At least one message of type human is needed.");
  }
  const { thinkingLevel = 0, reasoningEffort, responseFormat, maxOutputTokens } = chat;
  const effort = effortNamed(reasoningEffort) ?? efforts[thinkingLevel];
  return {
    model,
    messages,
    tools: chat.mcpTools.map(parseTool),
    toolChoice: { type: chat.shouldDisableTools === true ? "none" : "auto" },
    parallelToolCalls: true,
    responseFormat: parseFormat(responseFormat),
    stop: stopSequences(chat.stop, "stop"),
    ...outputLimit(maxOutputTokens),
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
  };
}

function parseConversation(
  { conversation }: StreamUnifiedChatRequest,
  contents: readonly MessageContent[],
): readonly Message[] {
  const history = new History();
  const reader = history.reader(conversation.map(({ type }) => (type === MessageType.AI ? "assistant" : "user")));
  const messages = conversation.flatMap((message, i) => {
    reader.at(i);
    return parseMessage(message, parseContent(contents[i]?.content, `conversation[${i}]`, history));
  });
  return messages;
}

function parseFormat(text: string | undefined): ResponseFormat {
  if (text === undefined || text === "") return { type: "text" };
  return formatIn(parseAt(formatSchema, { response_format: parseObject(text, "response_format") }, ""), true);
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

function parseMessage({ type, thinking, allThinkingBlocks }: ConversationMessage, parts: readonly Part[]): Message[] {
  if (parts.length === 0) return [];
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
  return parseObject(text, param);
}

function parseObject(text: string, param: string): Readonly<Record<string, unknown>> {
  try {
    const value = parseJson(text);
    if (isObject(value)) return value;
  } catch {
    // refused below
  }
  throw refuse(param, "Not a JSON object.", "Send it as JSON text.");
}
