import type { Message as ProtoMessage } from "@bufbuild/protobuf";
import type { ClientSideToolV2Result, StreamUnifiedChatRequest } from "../../../proto/aiserver/v1/chat_pb.ts";
import { refuse } from "../parse-body.ts";

/**
 * Fields of the original messages whose layout is not public, by number.
 * Source: docs/dev/wire/idempotent-streams.md, "Unread fields".
 */
const chatFields: Readonly<Record<number, string>> = {
  3: "explicit_context",
  8: "use_web",
  13: "should_cache",
  15: "current_file",
  26: "environment_info",
  28: "conversation_summary",
  30: "full_conversation_headers_only",
  31: "enable_yolo_mode",
  37: "allow_model_fallbacks",
  43: "context_bank_encryption_key",
  46: "unified_mode",
  47: "tools_requiring_accepted_return",
  54: "unified_mode_name",
  72: "replying_to_request_id",
  75: "force_summarization",
  79: "speculative_summarization_encryption_key",
};
const messageFields: Readonly<Record<number, string>> = {
  10: "images",
  18: "tool_results",
  47: "unified_mode",
  51: "supported_tools",
};
const modelFields: Readonly<Record<number, string>> = {
  2: "api_key",
  3: "enable_ghost_mode",
  4: "azure_state",
  5: "enable_slow_pool",
  6: "openai_api_base_url",
  7: "bedrock_state",
};
const images = 10;
/** Of a tool's result: the most members beside `error` and `mcp_result` that are not results. */
const attachments = 50;

/** At most this many names are reported. */
const mostNames = 64;

/**
 * The names of the request's fields that this gateway does not read, in the order of the fields. The start of the stream reports
 * them, because the client may rely on them. Equal requests give equal names.
 */
export function unreadFields(chat: StreamUnifiedChatRequest): readonly string[] {
  const names = [
    ...unknownOf(chat).map((number) => chatFields[number] ?? `field ${number}`),
    ...(chat.supportedTools.length > 0 ? ["supported_tools"] : []),
    ...(chat.modelDetails?.maxMode === true ? ["model_details.max_mode"] : []),
    ...unknownOf(chat.modelDetails).map((number) => `model_details.${modelFields[number] ?? `field ${number}`}`),
    ...chat.conversation
      .flatMap(unknownOf)
      .map((number) => `conversation[].${messageFields[number] ?? `field ${number}`}`),
  ];
  return [...new Set(names)].slice(0, mostNames);
}

/**
 * Refuses pictures: their layout is unknown, and without them the question would be another one.
 *
 * @throws MillraceError `invalid_request` with the message at fault.
 */
export function refuseImages({ conversation }: Pick<StreamUnifiedChatRequest, "conversation">): void {
  const at = conversation.findIndex((message) => unknownOf(message).includes(images));
  if (at < 0) return;
  throw refuse(
    `conversation[${at}].images`,
    "The layout of `images` is not public.",
    "Send them as `files` of the message.",
  );
}

/**
 * Refuses the result of a tool that is none of the client's own: its form is not known, and the model must not be shown an
 * empty one in its place.
 *
 * @throws MillraceError `invalid_request`.
 */
export function refuseForeignResult(result: ClientSideToolV2Result): void {
  if (result.error !== undefined || result.mcpResult !== undefined) return;
  const [number] = unknownOf(result).filter((no) => no !== attachments);
  if (number === undefined) return;
  throw refuse(
    "client_side_tool_v2_result",
    `A result in field ${number} cannot be read here.`,
    "Send the text of the result as mcp_result.result, or error.model_visible_error_message.",
  );
}

/** Numbers of the fields that the schema does not have, ascending. */
function unknownOf(message: ProtoMessage | undefined): readonly number[] {
  const numbers = new Set(message?.$unknown?.map(({ no }) => no));
  return [...numbers].sort((a, b) => a - b);
}
