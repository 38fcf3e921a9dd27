import { z } from "zod";
import { writeJson } from "../../../base/json.ts";
import type { Message, Part, ToolCall } from "../../../log/request.ts";
import { fileParts } from "../files.ts";
import type { History, Speaker, WireMessage } from "../history.ts";
import { imageFromUrl, parseAt, refuse, resultContent, textParts } from "../parse-body.ts";

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

const plainMessage = z.object({ content: content.nullish() });
const calls = z.object({
  tool_calls: z.array(z.union([functionCall, customCall])).nullish(),
  function_call: z.object({ name: z.string().min(1), arguments: z.string() }).nullish(),
});
const toolMessage = z.object({ tool_call_id: z.string().min(1), name: z.string().nullish() });
const functionMessage = z.object({ name: z.string().min(1) });

/** `messages` of a chat completion request. Each message is read by its role. Source: test/requirements.ts. */
export const messagesSchema = z.array(z.unknown()).min(1, "At least one message is needed.");

type Content = string | readonly unknown[];

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
export function parseMessages(messages: readonly unknown[], history: History): Message[] {
  return history.readMessages(
    messages,
    ({ role }) => (Object.hasOwn(speakers, role) ? speakers[role] : undefined) ?? "other",
    (message, path) => parseMessage(message, path, history),
  );
}

function parseMessage(given: WireMessage, path: string, history: History): Message[] {
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
      return [{ role: "tool", callId, ...(name ? { name } : {}), parts: result(), isError: false }];
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

/** A content as parts; parts of types that are not known are left out. */
export function parseContent(given: Content | null | undefined, path: string, history: History): Part[] {
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
    case "input_text":
    case "output_text":
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
