import { z } from "zod";
import { writeJson } from "../../../base/json.ts";
import type { Message, Part, ToolCall } from "../../../log/request.ts";
import { imageFromUrl, refuse, textParts } from "../parse-body.ts";

const textPart = z.object({ type: z.literal("text"), text: z.string() });
const refusalPart = z.object({ type: z.literal("refusal"), refusal: z.string() });
const imagePart = z.object({
  type: z.literal("image_url"),
  image_url: z.union([z.object({ url: z.string() }), z.string()]),
});
const unsupportedPart = z.object({ type: z.enum(["input_audio", "file", "video_url", "audio_url"]) });
const part = z.discriminatedUnion("type", [textPart, refusalPart, imagePart, unsupportedPart]);
const content = z.union([z.string(), z.array(part)]);

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

const instructionMessage = z.object({ role: z.enum(["system", "developer"]), content });
const userMessage = z.object({ role: z.literal("user"), content });
const assistantMessage = z.object({
  role: z.literal("assistant"),
  content: content.nullish(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.unknown().optional(),
  tool_calls: z.array(z.union([functionCall, customCall])).nullish(),
  function_call: z.object({ name: z.string().min(1), arguments: z.string() }).nullish(),
});
const toolMessage = z.object({
  role: z.literal("tool"),
  tool_call_id: z.string().min(1),
  name: z.string().nullish(),
  content: content.nullish(),
});
const functionMessage = z.object({ role: z.literal("function"), name: z.string().min(1), content: content.nullish() });

/**
 * `messages` of a chat completion request: every role, content as text or parts.
 * Source: docs/wire/clients.md, "Chat Completions".
 */
export const messagesSchema = z
  .array(
    z.discriminatedUnion("role", [instructionMessage, userMessage, assistantMessage, toolMessage, functionMessage]),
  )
  .min(1, "At least one message is needed.");

type WireMessage = z.infer<typeof messagesSchema>[number];
type Content = z.infer<typeof content>;

/** @throws MillraceError `invalid_request` for content that cannot go upstream, with its path. */
export function parseMessages(messages: readonly WireMessage[]): Message[] {
  return messages.map((message, index) => parseMessage(message, `messages[${index}]`));
}

function parseMessage(message: WireMessage, path: string): Message {
  const parts = parseContent(message.content, `${path}.content`);
  switch (message.role) {
    case "system":
    case "developer":
      return { role: "system", parts };
    case "user":
      return { role: "user", parts };
    case "assistant":
      return parseAssistant(message, parts);
    case "tool":
      return {
        role: "tool",
        callId: message.tool_call_id,
        ...(message.name ? { name: message.name } : {}),
        parts,
        isError: false,
      };
    case "function":
      return { role: "tool", callId: legacyCallId(message.name), name: message.name, parts, isError: false };
    default:
      return message satisfies never;
  }
}

function parseAssistant(message: z.infer<typeof assistantMessage>, parts: readonly Part[]): Message {
  const thinking = message.reasoning_content ?? (typeof message.reasoning === "string" ? message.reasoning : undefined);
  const calls = (message.tool_calls ?? []).map(parseCall);
  const legacy = message.function_call;
  if (legacy) {
    calls.push({ callId: legacyCallId(legacy.name), name: legacy.name, arguments: legacy.arguments, kind: "function" });
  }
  return {
    role: "assistant",
    parts: message.refusal ? [...parts, ...textParts([message.refusal])] : parts,
    ...(thinking ? { thinking } : {}),
    toolCalls: calls,
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

function parseContent(content: Content | null | undefined, path: string): Part[] {
  if (content === null || content === undefined) return [];
  if (typeof content === "string") return textParts([content]);
  return content.flatMap((part, index) => parsePart(part, `${path}[${index}]`));
}

function parsePart(given: z.infer<typeof part>, path: string): Part[] {
  switch (given.type) {
    case "text":
      return textParts([given.text]);
    case "refusal":
      return textParts([given.refusal]);
    case "image_url": {
      const url = typeof given.image_url === "string" ? given.image_url : given.image_url.url;
      return [imageFromUrl(url, `${path}.image_url.url`)];
    }
    case "input_audio":
    case "file":
    case "audio_url":
    case "video_url":
      throw refuse(path, `Content of type \`${given.type}\` is not supported; text and images are.`);
    default:
      return given satisfies never;
  }
}
