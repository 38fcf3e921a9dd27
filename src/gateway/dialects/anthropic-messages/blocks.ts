import { z } from "zod";
import type { Part } from "../../../log/request.ts";
import { fileParts } from "../files.ts";
import type { History } from "../history.ts";
import { imageFromBase64, imageFromUrl, parseAt, refuse, textParts } from "../parse-body.ts";

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

const textBlock = z.object({ text: z.string() });
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
  content: z.array(z.unknown()).nullish(),
});
/** The vendor's own summary of what it took out of a long conversation. */
const compactionBlock = z.object({ content: z.string().nullish() });
const toolReferenceBlock = z.object({ type: z.literal("tool_reference"), tool_name: z.string() });

/** The content of a message or result: a text, or blocks that are read one by one. */
export const content = z.union([z.string(), z.array(z.unknown())]);
const anyBlock = z.looseObject({ type: z.string() });

/**
 * Text, images, text documents, search results, and the names of tools that a client's search found (Claude Code's ToolSearch),
 * as parts; blocks of other types are left out. Throws `invalid_request` with the path.
 */
export function parsePartBlock(given: unknown, path: string, history: History): Part[] {
  const block = history.read("block", () => parseAt(anyBlock, given, path), undefined);
  if (block === undefined) return [];
  const read = (parts: () => Part[]) => history.read(block.type, parts, []);
  switch (block.type) {
    case "text":
    case "input_text":
    case "output_text":
      return read(() => textParts([parseAt(textBlock, block, path).text]));
    case "image":
      return history.readFile("image", "an image", () => [
        parseImage(parseAt(imageBlock, block, path).source, `${path}.source`),
      ]);
    case "document":
      return read(() => parseDocument(parseAt(documentBlock, block, path), path, history));
    case "search_result":
      return read(() => {
        const { source, title, content: inside } = parseAt(searchResultBlock, block, path);
        const heading = [title, source].filter((text) => text).join(", ");
        const parts = (inside ?? []).flatMap((inner, i) => parsePartBlock(inner, `${path}.content[${i}]`, history));
        return [...textParts([heading]), ...parts];
      });
    case "tool_reference":
      return read(() =>
        textParts([`The tool ${parseAt(toolReferenceBlock, block, path).tool_name} can be called now.`]),
      );
    case "compaction":
      return read(() => textParts([parseAt(compactionBlock, block, path).content ?? ""]));
    default:
      history.leaveOut(block.type);
      return [];
  }
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
      const parts = source.content.flatMap((inner, i) =>
        parsePartBlock(inner, `${path}.source.content[${i}]`, history),
      );
      return [...textParts(heading), ...parts];
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
