import { z } from "zod";
import { isObject, type JsonObject, objectOf, writeJson } from "../../base/json.ts";
import type { Message, Part } from "../../log/request.ts";
import { fileParts, imageParts } from "./files.ts";
import type { History } from "./history.ts";
import { parseAt, textParts } from "./parse-body.ts";

/** The content of a message: a text, a part, or a list of parts. */
export const content = z.union([z.string(), z.array(z.unknown()), z.looseObject({})]);
const anyPart = z.looseObject({ type: z.string() });

/** What a part without a type is, by the member that it has. */
const typesByMember = [
  ["text", "text"],
  ["image_url", "image_url"],
  ["source", "image"],
  ["file", "file"],
  ["file_data", "input_file"],
] as const;

/** Sound, films and uploads, in the words of several APIs. */
const media = /^(?:input_)?(audio|video)(?:_url)?$|^container_upload$/;

/** The content of a message, of a call's result or of a system text, as parts; those that cannot be read are left out. */
export function parseContent(given: unknown, path: string, history: History): Part[] {
  if (given === null || given === undefined) return [];
  if (Array.isArray(given)) return given.flatMap((part, i) => parsePart(part, `${path}[${i}]`, history));
  return parsePart(given, path, history);
}

/** Claude Code's first system block: client metadata that changes with every conversation, and no part of the prompt. */
const billingHeader = /^x-anthropic-billing-header\b/i;

/**
 * A request's system text as a message, of its member `param`; none if it is empty. Claude Code's billing line is left out. Source:
 * docs/dev/wire/clients.md, "Messages".
 */
export function parseSystem(system: unknown, param: string, history: History): Message[] {
  const parts = history.readOther(() => parseContent(system, param, history));
  const [first] = parts;
  const kept = first?.type === "text" && billingHeader.test(first.text) ? parts.slice(1) : parts;
  return kept.length === 0 ? [] : [{ role: "system", parts: kept }];
}

/**
 * One part, in the form of any API, since programs send one API's parts to another: texts, images, files, search results, and the names
 * of tools that a client's search found (Claude Code's ToolSearch).
 */
export function parsePart(given: unknown, path: string, history: History): Part[] {
  if (typeof given === "string") return textParts([given]);
  if (Array.isArray(given)) return parseContent(given, path, history);
  const part = history.read("part", () => parseAt(anyPart, withType(given), path), undefined);
  if (part === undefined) return [];
  const { type } = part;
  const say = (member: string, words = (text: string) => text): Part[] => {
    const text = part[member];
    if (typeof text === "string") return textParts([words(text)]);
    history.leaveOut(type);
    return [];
  };
  switch (type) {
    case "text":
    case "input_text":
    case "output_text":
    case "summary_text":
    case "reasoning_text":
      return history.read("text", () => textParts([textOf(part, path)]), []);
    case "refusal":
      return say("refusal");
    case "tool_reference":
      return say("tool_name", (name) => `The tool ${name} can be called now.`);
    case "compaction": // the vendor's own summary of what it took out of a long conversation
      return part["content"] === null ? [] : say("content");
    case "image": {
      const { url, data, media_type: mimeType } = objectOf(part["source"]);
      return imageParts(history, type, url ?? data, mimeType);
    }
    case "image_url":
    case "input_image":
    case "computer_screenshot": {
      const { image_url: url } = part; // Chat Completions have an object here, Responses a text
      return imageParts(history, type === "image_url" ? type : "input_image", isObject(url) ? url["url"] : url);
    }
    case "file":
    case "input_file": {
      const { filename, file_data: data, file_url: url, file_id: id } = type === "file" ? objectOf(part["file"]) : part;
      return fileParts(history, type, { name: filename, data, elsewhere: url ?? id });
    }
    case "document":
      return parseDocument(part, path, history);
    case "search_result": {
      const heading = [part["title"], part["source"]].filter((text) => typeof text === "string" && text !== "");
      return [...textParts([heading.join(", ")]), ...parseContent(part["content"], `${path}.content`, history)];
    }
    default:
      return parseOther(type, history);
  }
}

function withType(part: unknown): unknown {
  if (!isObject(part) || typeof part["type"] === "string") return part;
  const [, type] = typesByMember.find(([member]) => part[member] !== undefined) ?? [];
  return { ...part, type };
}

/** The text of a part; null is none. Programs keep it as `content`, or in an object with notes beside, too. */
export function textOf({ text, content: other }: JsonObject, path: string): string {
  const given = text ?? other ?? "";
  const said = isObject(given) ? given["value"] : given;
  if (typeof said === "number") return writeJson(said);
  return parseAt(z.string(), said, `${path}.text`);
}

function parseOther(type: string, history: History): Part[] {
  const found = media.exec(type);
  if (found !== null)
    return history.leaveOutFile(
      type,
      found[1] === "audio" ? "an audio file" : found[1] === "video" ? "a video" : "a file",
    );
  history.leaveOut(type);
  return [];
}

function parseDocument({ source, title: name }: JsonObject, path: string, history: History): Part[] {
  const { type, data, media_type: mimeType, content: inside, url, file_id: id } = objectOf(source);
  const heading = textParts(typeof name === "string" && name !== "" ? [`${name}\n`] : []);
  if (type === "text" && typeof data === "string") return [...heading, ...textParts([data])];
  if (type === "content") return [...heading, ...parseContent(inside, `${path}.source.content`, history)];
  return fileParts(history, "document", { name, data, mimeType, elsewhere: url ?? id });
}
