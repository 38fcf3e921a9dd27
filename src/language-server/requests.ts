import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ChatMessageSchema, RawGetChatMessageRequestSchema } from "../proto/windsurf/exa/chat_pb.ts";
import {
  ChatMessageSource,
  ConversationalPlannerMode,
  type MetadataSchema,
  type Model,
} from "../proto/windsurf/exa/codeium_common_pb.ts";
import { type CascadeConfigSchema, SectionOverrideMode } from "../proto/windsurf/exa/cortex_pb.ts";
import type { RawChat, SendMessage } from "./language-server.ts";

/**
 * The `cascade_config` of one message: a planner without tools, the model in every selector, and the
 * instructions in the one section that is rendered in every planner mode.
 *
 * The section is overridden, not appended to: the model then gets exactly what the caller wrote.
 * Besides the mode, every built-in tool with a side effect is switched off by name: no IDE tool ever runs.
 *
 * Source: docs/dev/wire/cascade.md, "Planner configuration".
 */
export function cascadeConfig(message: SendMessage): MessageInitShape<typeof CascadeConfigSchema> {
  const modelNumber = message.modelNumber as Model | undefined; // open enum: any number is a value of it
  return {
    plannerConfig: {
      plannerTypeConfig: {
        case: "conversational",
        value: {
          plannerMode: ConversationalPlannerMode.NO_TOOL,
          ...(message.instructions === ""
            ? {}
            : {
                additionalInstructionsSection: {
                  mode: SectionOverrideMode.OVERRIDE,
                  content: message.instructions,
                },
              }),
        },
      },
      requestedModelUid: message.modelUid,
      planModelUid: message.modelUid,
      ...(modelNumber === undefined
        ? {}
        : {
            planModelDeprecated: modelNumber,
            requestedModelDeprecated: { choice: { case: "model", value: modelNumber } },
          }),
      ...(message.maxOutputTokens === undefined ? {} : { maxOutputTokens: message.maxOutputTokens }),
      toolConfig: {
        runCommand: { forceDisable: true },
        mcp: { forceDisable: true },
        memory: { forceDisable: true },
        searchWeb: { forceDisable: true },
        readUrlContent: { forceDisable: true },
      },
    },
  };
}

/**
 * The request of the 1.x way. A user's text is an intent, an answer of the model an action; the model's source is the one
 * called UNKNOWN.
 *
 * Source: docs/dev/wire/language-server.md, "Raw chat".
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
