import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ChatMessageSchema, RawGetChatMessageRequestSchema } from "../proto/windsurf/exa/chat_pb.ts";
import { ChatMessageSource, type MetadataSchema, type Model } from "../proto/windsurf/exa/codeium_common_pb.ts";
import type { RawChat } from "./language-server.ts";

/**
 * The request of the 1.x way. A user's text is an intent, an answer of the model an action; the model's source is the one
 * called UNKNOWN.
 *
 * Source: docs/wire/language-server.md, "Raw chat".
 */
export function rawChatRequest(
  chat: RawChat,
  metadata: MessageInitShape<typeof MetadataSchema>,
  newUuid: () => string,
  nowMs: number,
): MessageInitShape<typeof RawGetChatMessageRequestSchema> {
  const conversationId = newUuid();
  return {
    metadata,
    chatMessages: chat.messages.map(
      (message): MessageInitShape<typeof ChatMessageSchema> => ({
        messageId: newUuid(),
        conversationId,
        timestamp: timestampFromMs(nowMs),
        source: message.role === "user" ? ChatMessageSource.USER : ChatMessageSource.UNKNOWN,
        content: content(message),
      }),
    ),
    systemPromptOverride: chat.instructions,
    chatModelName: chat.modelName,
    ...(chat.modelNumber === undefined ? {} : { chatModel: chat.modelNumber as Model }), // open enum: any number is a value
  };
}

type Content = Exclude<NonNullable<MessageInitShape<typeof ChatMessageSchema>["content"]>, undefined>;

function content({ role, text }: RawChat["messages"][number]): Content {
  return role === "user"
    ? { case: "intent", value: { intent: { case: "generic", value: { text } } } }
    : { case: "action", value: { action: { case: "generic", value: { text } } } };
}
