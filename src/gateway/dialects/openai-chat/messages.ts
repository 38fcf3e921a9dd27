import { z } from "zod";
import { writeJson } from "../../../base/json.ts";
import type { Message, Part, ToolCall } from "../../../log/request.ts";
import { fileParts } from "../files.ts";
import { type History, newestFrom, type Speaker } from "../history.ts";
import { imageFromUrl, parseAt, refuse, textParts } from "../parse-body.ts";

const anyPart = z.looseObject({ type: z.string() });
const content = z.union([z.string(), z.array(z.unknown())]);
const textPart = z.object({ text: z.string() });
const refusalPart = z.object({ refusal: z.string() });
const imagePart = z.object({ image_url: z.union([z.object({ url: z.string() }), z.string()]) });
const filePart = z.object({
  file: z.object({
    filename: z.string().nullish(),
    file_data: z.string().nullish(),
    file_id: z.string().nullish(),
  }),
});

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

const plainMessage = z.object({ content });
const assistantMessage = z.object({
  content: content.nullish(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.unknown().optional(),
  tool_calls: z.array(z.union([functionCall, customCall])).nullish(),
  function_call: z.object({ name: z.string().min(1), arguments: z.string() }).nullish(),
});
const toolMessage = z.object({
  tool_call_id: z.string().min(1),
  name: z.string().nullish(),
  content: content.nullish(),
});
const functionMessage = z.object({ name: z.string().min(1), content: content.nullish() });

const anyMessage = z.looseObject({ role: z.string() });

/** `messages` of a chat completion request. Each message is read by its role. Source: docs/dev/wire/clients.md, "Chat Completions". */
export const messagesSchema = z.array(anyMessage).min(1, "At least one message is needed.");

type WireMessage = z.infer<typeof anyMessage>;
type Content = z.infer<typeof content>;

const speakers: Readonly<Record<string, Speaker>> = {
  user: "user",
  assistant: "assistant",
  tool: "tool",
  function: "tool",
};

/**
 * Messages of every role; those of a role that is not known are left out.
 *
 * @throws MillraceError `invalid_request` for content of the newest message that cannot go upstream, and for calls and results that
 * cannot be read, with the path.
 */
export function parseMessages(messages: readonly WireMessage[], history: History): Message[] {
  const newest = newestFrom(messages.map(({ role }) => speakers[role] ?? "other"));
  const read = messages.flatMap((message, index) => {
    history.isNewest = index >= newest;
    return parseMessage(message, `messages[${index}]`, history);
  });
  history.refuseUnreadable(read, "messages");
  return read;
}

function parseMessage(given: WireMessage, path: string, history: History): Message[] {
  const read = (written: Content | null | undefined) => parseContent(written, `${path}.content`, history);
  switch (given.role) {
    case "system":
    case "developer":
    case "user": {
      const role = given.role === "user" ? "user" : "system";
      const message = history.read(`message of ${given.role}`, () => parseAt(plainMessage, given, path), undefined);
      return message === undefined ? [] : [{ role, parts: read(message.content) }];
    }
    case "assistant": {
      const message = parseAt(assistantMessage, given, path);
      return [parseAssistant(message, read(message.content))];
    }
    case "tool": {
      const { tool_call_id: callId, name, content: written } = parseAt(toolMessage, given, path);
      return [{ role: "tool", callId, ...(name ? { name } : {}), parts: read(written), isError: false }];
    }
    case "function": {
      const { name, content: written } = parseAt(functionMessage, given, path);
      return [{ role: "tool", callId: legacyCallId(name), name, parts: read(written), isError: false }];
    }
    default:
      history.leaveOut(`message of ${given.role}`);
      return [];
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

function parseContent(given: Content | null | undefined, path: string, history: History): Part[] {
  if (given === null || given === undefined) return [];
  if (typeof given === "string") return textParts([given]);
  return given.flatMap((part, index) => parsePart(part, `${path}[${index}]`, history));
}

function parsePart(part: unknown, path: string, history: History): Part[] {
  const given = history.read("part", () => parseAt(anyPart, part, path), undefined);
  switch (given?.type) {
    case undefined:
      return [];
    case "text":
      return history.read("text", () => textParts([parseAt(textPart, given, path).text]), []);
    case "refusal":
      return history.read("refusal", () => textParts([parseAt(refusalPart, given, path).refusal]), []);
    case "image_url":
      return history.readFile("image_url", "an image", () => {
        const { image_url: image } = parseAt(imagePart, given, path);
        return [imageFromUrl(typeof image === "string" ? image : image.url, `${path}.image_url.url`)];
      });
    case "file": {
      const read = history.read("file", () => parseAt(filePart, given, path), undefined)?.file;
      const { filename: name, file_data: data, file_id: elsewhere } = read ?? {};
      return fileParts(history, "file", `${path}.file`, { name, data, elsewhere });
    }
    case "input_audio":
    case "audio_url":
    case "video_url": {
      const { type } = given;
      const what = type === "video_url" ? "a video" : "an audio file";
      return history.readFile(type, what, () => {
        throw refuse(path, `Content of type \`${type}\` is not supported; text and images are.`);
      });
    }
    default:
      history.leaveOut(given?.type ?? "part");
      return [];
  }
}
