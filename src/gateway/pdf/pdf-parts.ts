import { isObject, type JsonObject } from "../../base/json.ts";
import type { PdfReader, PdfText } from "./pdf-reader.ts";

/** "%PDF-" in base64. */
const startOfPdf = "JVBERi0";
const dataUrl = /^data:[^,]*,/;
const longestStart = 1_000;

/** Where a body has its messages. */
const conversations = ["messages", "input", "contents"];
/** Where parts stand in a message, or in a part. A call's arguments are none. */
const inside = ["content", "output", "source", "parts"];

/**
 * A body of any API with a text by pages in the place of each PDF, also of those in results of tools. `leftOut`: the types of parts with
 * a PDF of which something could not be read; a line tells the model.
 */
export async function withPdfTexts(
  body: unknown,
  read: PdfReader,
): Promise<{ readonly body: unknown; readonly leftOut: readonly string[] }> {
  if (!isObject(body)) return { body, leftOut: [] };
  const texts = new Map<string, PdfText | undefined>();
  changeParts(body, conversations, (part, data) => {
    texts.set(data, undefined);
    return part;
  });
  if (texts.size === 0) return { body, leftOut: [] };
  for (const data of texts.keys()) texts.set(data, await read(data));
  const leftOut = new Set<string>();
  const changed = changeParts(body, conversations, (part, data, name) => {
    const text = texts.get(data);
    if (text === undefined) return part;
    if (!isWhole(text)) leftOut.add(typeof part["type"] === "string" ? part["type"] : "inlineData");
    return { type: "text", text: textOf(name, text) };
  });
  return { body: changed, leftOut: [...leftOut] };
}

type Change = (part: JsonObject, data: string, name: string) => unknown;

/** A value with other parts for those that hold a PDF, in the members that are named: a body has them elsewhere than its messages. */
function changeParts(value: unknown, members: readonly string[], change: Change): unknown {
  if (Array.isArray(value)) {
    const parts = value.map((one) => changeParts(one, members, change));
    return parts.some((part, i) => part !== value[i]) ? parts : value;
  }
  if (!isObject(value)) return value;
  const { type, source, file } = value;
  const inline = value["inlineData"] ?? value["inline_data"]; // of Gemini
  const holder = type === "document" ? source : type === "file" ? file : type === "input_file" ? value : inline;
  if (isObject(holder)) {
    const given = holder["data"] ?? holder["file_data"];
    const start = typeof given === "string" ? (dataUrl.exec(given.slice(0, longestStart))?.[0].length ?? 0) : 0;
    const name = value["title"] ?? holder["filename"];
    if (typeof given === "string" && given.startsWith(startOfPdf, start))
      return change(value, given.slice(start), typeof name === "string" && name !== "" ? name.slice(0, 200) : "a file");
  }
  let changed = value;
  for (const member of members) {
    const parts = changeParts(value[member], inside, change);
    if (parts !== value[member]) changed = { ...changed, [member]: parts };
  }
  return changed;
}

function isWhole({ pages, total }: PdfText): boolean {
  return total > 0 && pages.length === total && pages.some((page) => page !== "");
}

function textOf(name: string, { pages, total, why }: PdfText): string {
  if (pages.length === 0) return `[${name}: a PDF that this gateway cannot read: ${why}]`;
  const some = pages.some((page) => page !== "");
  if (!some) return `[${name}: a PDF of ${total} pages without text, such as scans, that this gateway cannot read]`;
  const shown = pages.map((page, i) => `[page ${i + 1}]\n${page === "" ? "[no text]" : page}`);
  const rest = pages.length < total ? [`[pages ${pages.length + 1} to ${total} are not here: ${why}]`] : [];
  return [`${name}: the text of a PDF of ${total} pages`, ...shown, ...rest].join("\n\n");
}
