import type { Prompt } from "../../backends/backend.ts";
import type { Message, Part, ToolCall } from "../../log/request.ts";
import { resultTag, writeCall } from "../tools/grammar.ts";
import type { ToolNames } from "../tools/names.ts";
import { modelTexts } from "./instructions.ts";

/** An image of the conversation, in the order in which the texts number them. */
export type PromptImage = { readonly mimeType: string; readonly base64: string };

/** One message written out as text, with its images apart. `name` identifies it in error messages. */
export interface WrittenMessage {
  readonly role: Message["role"];
  readonly text: string;
  readonly images: readonly PromptImage[];
  readonly name: string;
}

/**
 * Writes messages as text: calls in the grammar that the model is taught, results in tags that name the tool and the
 * call's place in its answer, images as `[image n]`. All tags have the turn's mark, which no text contains, so nothing that a file, a user
 * or a call's arguments say can open or end a block. `markImages` false leaves the marks of images out where the text is only the user's own.
 */
export function writeMessages(
  messages: readonly Message[],
  names: ToolNames,
  mark: string,
  markImages: boolean,
): readonly WrittenMessage[] {
  const callPlace = new Map<string, { readonly place: number; readonly name: string }>();
  const answered = new Set(messages.flatMap((message) => (message.role === "tool" ? [message.callId] : [])));
  const writeResult = (name: string, place: number | undefined, isError: boolean, body: string) => {
    const attributes = `${place === undefined ? "" : ` call="${place}"`}${isError ? ' error="true"' : ""}`;
    return `<${resultTag}-${mark} name="${names.shown(name)}"${attributes}>\n${body}\n</${resultTag}-${mark}>`;
  };
  /** Results that the client did not send, because it was interrupted or cut its history: else the model waits for them, or makes them up. */
  const missingAfter = (before: Message | undefined) =>
    (before?.role === "assistant" ? before.toolCalls : []).flatMap(({ callId, name }, i) =>
      answered.has(callId) ? [] : [writeResult(name, i + 1, true, "No result of this call was sent.")],
    );
  let imagesBefore = 0;
  return messages.map((message, index): WrittenMessage => {
    const { role, parts } = message;
    const images = parts.filter((part) => part.type === "image");
    const body = writeParts(parts, markImages ? imagesBefore : undefined);
    imagesBefore += images.length;
    const written = (text: string, name: string = role): WrittenMessage => ({
      role,
      images,
      text: [...missingAfter(messages[index - 1]), text].filter((piece) => piece !== "").join("\n\n"),
      name: `message ${index + 1} of ${messages.length} (${name})`,
    });
    switch (message.role) {
      case "system":
      case "user":
        return written(body);
      case "assistant": {
        message.toolCalls.forEach((call, place) => callPlace.set(call.callId, { place: place + 1, name: call.name }));
        const calls = message.toolCalls.map((call) => writeCall(mark, names.shown(call.name), callBody(call)));
        return written([body, ...calls].filter((piece) => piece !== "").join("\n\n"));
      }
      case "tool": {
        const call = callPlace.get(message.callId);
        const name = message.name ?? call?.name ?? "unknown";
        return written(writeResult(name, call?.place, message.isError, body), `result of ${names.shown(name)}`);
      }
      default:
        return message satisfies never;
    }
  });
}

/** The messages as a list of turns: tool results are the user's, neighbours of one role are one message. */
export function asTurns(messages: readonly WrittenMessage[]): Prompt["messages"] {
  const turns: Prompt["messages"][number][] = [];
  for (const { role, text } of messages) {
    const side = role === "assistant" ? "assistant" : "user";
    const last = turns.at(-1);
    if (last?.role === side) turns[turns.length - 1] = { role: side, text: `${last.text}\n\n${text}` };
    else turns.push({ role: side, text });
  }
  return turns;
}

function callBody(call: ToolCall): string {
  if (call.kind === "freeform") return call.arguments;
  return call.arguments.trim() === "" ? "{}" : call.arguments;
}

function writeParts(parts: readonly Part[], imagesBefore: number | undefined): string {
  let image = imagesBefore ?? 0;
  const pieces = parts.flatMap((part) => {
    if (part.type === "text") return modelTexts([part]);
    image++;
    return imagesBefore === undefined ? [] : [`[image ${image}]`];
  });
  return pieces.join("\n\n");
}
