import { z } from "zod";
import { isObject, type JsonObject, writeJson } from "../../base/json.ts";
import type { Message, Part } from "../../log/request.ts";
import { fileParts } from "./files.ts";
import type { History } from "./history.ts";
import { imageFromBase64, imageFromUrl, parseAt, refuse, textParts } from "./parse-body.ts";

const base64Source = z.object({ type: z.literal("base64"), media_type: z.string(), data: z.string() });
const imageSource = z.discriminatedUnion("type", [
  base64Source,
  z.object({ type: z.literal("url"), url: z.string() }),
  z.object({ type: z.literal("file"), file_id: z.string() }),
]);
const documentSource = z.discriminatedUnion("type", [
  base64Source,
  z.object({ type: z.literal("text"), data: z.string() }),
  z.object({
    type: z.literal("content"),
    content: z.union([z.string(), z.array(z.unknown())]),
  }),
  z.object({ type: z.literal("url"), url: z.string() }),
  z.object({ type: z.literal("file"), file_id: z.string() }),
]);

const imageBlock = z.object({ type: z.literal("image"), source: imageSource });
const documentBlock = z.object({
  type: z.literal("document"),
  source: documentSource,
  title: z.string().nullish(),
  context: z.string().nullish(),
});
const searchResultBlock = z.object({
  type: z.literal("search_result"),
  source: z.string().nullish(),
  title: z.string().nullish(),
  content: z.unknown(),
});
/** The vendor's own summary of what it took out of a long conversation. */
const compactionBlock = z.object({ content: z.string().nullish() });
const toolReferenceBlock = z.object({ type: z.literal("tool_reference"), tool_name: z.string() });

const refusalPart = z.object({ refusal: z.string() });
/** Chat Completions have an object here, Responses a text. */
const imageUrlPart = z.object({ image_url: z.union([z.string(), z.object({ url: z.string() })]).nullish() });
const fileMembers = z.object({
  filename: z.string().nullish(),
  file_data: z.string().nullish(),
  file_url: z.string().nullish(),
  file_id: z.string().nullish(),
});
const filePart = z.object({ file: fileMembers });

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
  const read = (parts: () => Part[]) => history.read(type, parts, []);
  switch (type) {
    case "text":
    case "input_text":
    case "output_text":
    case "summary_text":
    case "reasoning_text":
      return history.read("text", () => textParts([textOf(part, path)]), []);
    case "refusal":
      return read(() => textParts([parseAt(refusalPart, part, path).refusal]));
    case "image":
      return history.readFile("image", anImage(isObject(part["source"]) ? part["source"]["url"] : undefined), () => [
        parseImage(parseAt(imageBlock, part, path).source, `${path}.source`),
      ]);
    case "image_url":
    case "input_image":
    case "computer_screenshot":
      return history.readFile(type === "image_url" ? type : "input_image", anImage(part["image_url"]), () => {
        const { image_url: url } = parseAt(imageUrlPart, part, path);
        if (!url) throw refuse(path, "Uploaded files are not kept here.", "Send the image as a data URL.");
        const at = `${path}.image_url${type === "image_url" ? ".url" : ""}`;
        return [imageFromUrl(typeof url === "string" ? url : url.url, at)];
      });
    case "file":
    case "input_file": {
      const at = type === "file" ? `${path}.file` : path;
      const members = () => (type === "file" ? parseAt(filePart, part, path).file : parseAt(fileMembers, part, path));
      const file = history.read(type, members, undefined);
      const elsewhere = file?.file_url ?? file?.file_id;
      return fileParts(history, type, at, { name: file?.filename, data: file?.file_data, elsewhere });
    }
    case "document":
      return history.readFile(type, "a document", () =>
        parseDocument(parseAt(documentBlock, part, path), path, history),
      );
    case "search_result":
      return read(() => {
        const { source, title, content: inside } = parseAt(searchResultBlock, part, path);
        const heading = [title, source].filter((text) => text).join(", ");
        return [...textParts([heading]), ...parseContent(inside, `${path}.content`, history)];
      });
    case "tool_reference":
      return read(() =>
        textParts([`The tool ${parseAt(toolReferenceBlock, part, path).tool_name} can be called now.`]),
      );
    case "compaction":
      return read(() => textParts([parseAt(compactionBlock, part, path).content ?? ""]));
    default:
      return parseOther(type, path, history);
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

/** An image for a note; the model may fetch it with a tool of its own. */
function anImage(given: unknown): string {
  const url = isObject(given) ? given["url"] : given;
  return typeof url === "string" && /^https?:/i.test(url) ? `an image at ${url.slice(0, 300)}` : "an image";
}

function parseOther(type: string, path: string, history: History): Part[] {
  const found = media.exec(type);
  if (found === null) {
    history.leaveOut(type);
    return [];
  }
  const what = found[1] === "audio" ? "an audio file" : found[1] === "video" ? "a video" : "a file";
  return history.readFile(type, what, () => {
    throw refuse(path, `Content of type \`${type}\` is not supported; text and images are.`);
  });
}

function parseImage(source: z.infer<typeof imageSource>, path: string): Part {
  switch (source.type) {
    case "base64":
      return imageFromBase64(source.media_type, source.data, `${path}.data`);
    case "url":
      return imageFromUrl(source.url, `${path}.url`);
    case "file":
      throw refuse(path, "Uploaded files are not kept here.", "Send the image as base64.");
    default:
      return source satisfies never;
  }
}

function parseDocument({ source, title }: z.infer<typeof documentBlock>, path: string, history: History): Part[] {
  const heading = title ? [`${title}\n`] : [];
  const file = (data: Parameters<typeof fileParts>[3]) =>
    fileParts(history, "document", `${path}.source`, { name: title, ...data });
  switch (source.type) {
    case "text":
      return textParts([...heading, source.data]);
    case "content": {
      if (typeof source.content === "string") return textParts([...heading, source.content]);
      return [...textParts(heading), ...parseContent(source.content, `${path}.source.content`, history)];
    }
    case "base64":
      return file({ data: source.data, mimeType: source.media_type });
    case "url":
      return file({ elsewhere: source.url });
    case "file":
      return file({ elsewhere: source.file_id });
    default:
      return source satisfies never;
  }
}
