import type { Part } from "../../log/request.ts";
import { bounds } from "./bounds.ts";
import type { History } from "./history.ts";
import { textParts } from "./parse-body.ts";

const texts =
  /^(?:text\/|application\/(?:json|xml|yaml|x-yaml|toml|javascript|typescript|x-sh|sql|x-ndjson)\b|[a-z]+\/[\w.-]+\+(?:json|xml)\b)/i;

/** What stands before the data, with the type and whether they are base64. Matched apart from them: an expression over 40 MB of data takes 130 ms. */
const dataUrl = /^data:([^,;]*)(?:;[^,;]*)*?(;base64)?,/i;

/** A file as a request brings it, in the words of any API. A member of another type counts as none. */
interface GivenFile {
  readonly name?: unknown;
  /** Base64, alone or as a data URL. */
  readonly data?: unknown;
  readonly mimeType?: unknown;
  /** An address or an upload: the gateway fetches nothing. */
  readonly elsewhere?: unknown;
}

function stringOf(given: unknown): string {
  return typeof given === "string" ? given : "";
}

/** The parts of a file of type `type` (as the API calls it): a text is read, a picture is a picture. A note stands in the place of any other. */
export function fileParts(history: History, type: string, file: GivenFile): Part[] {
  const [name, data] = [stringOf(file.name), stringOf(file.data)];
  const start = dataUrl.exec(data.slice(0, bounds.dataUrlStart));
  const given = start?.[1] || stringOf(file.mimeType);
  const isPdf = given === "application/pdf" || /\.pdf$/i.test(name || stringOf(file.elsewhere));
  const kind = isPdf
    ? "a PDF"
    : given.startsWith("audio/")
      ? "an audio file"
      : given.startsWith("video/")
        ? "a video"
        : "a file";
  const read = () => {
    const content = start === null ? data : data.slice(start[0].length);
    if (/^image\//i.test(given)) return image(given, content);
    if (data === "" || isPdf || !texts.test(given)) return undefined;
    const text = start === null || start[2] !== undefined ? decoded(content) : unescaped(content);
    return text === undefined ? undefined : textParts([...(name === "" ? [] : [`${name}\n`]), text]);
  };
  return read() ?? history.leaveOutFile(type, name === "" ? kind : `${name.slice(0, 200)}: ${kind}`);
}

/**
 * The parts of a picture: a data URL, or base64 of a type that is named beside. A note for the model stands in the place of an address, which the
 * model may fetch with a tool of its own, and of anything else.
 */
export function imageParts(history: History, type: string, given: unknown, mimeType?: unknown): Part[] {
  const data = stringOf(given);
  const start = dataUrl.exec(data.slice(0, bounds.dataUrlStart));
  const isEncoded = start === null ? typeof mimeType === "string" : start[2] !== undefined;
  const read = isEncoded ? image(start?.[1] ?? stringOf(mimeType), data.slice(start?.[0].length ?? 0)) : undefined;
  const at = /^https?:/i.test(data) ? ` at ${data.slice(0, 300)}` : "";
  return read ?? history.leaveOutFile(type, `an image${at}`);
}

/** Pictures without a type, as Ollama has them: their first bytes tell it. */
export function bareImages(history: History, given: unknown): Part[] {
  return (Array.isArray(given) ? given : [given ?? []].flat()).flatMap((data) => {
    const [, type = "png"] =
      [
        ["/9j/", "jpeg"],
        ["R0lG", "gif"],
        ["UklG", "webp"],
      ].find(([head = ""]) => stringOf(data).startsWith(head)) ?? [];
    return imageParts(history, "images", data, `image/${type}`);
  });
}

/** Names of image types that programs write and the vendors' models do not take. */
const imageAliases: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/jpe": "image/jpeg",
  "image/jfif": "image/jpeg",
  "image/x-png": "image/png",
  "image/apng": "image/png",
  "image/x-webp": "image/webp",
  "image/x-gif": "image/gif",
};

/** How a PDF begins, as base64: some clients send every file as a picture. */
const pdfStart = "JVBERi0";

/** An image given as base64, standard or URL-safe, with or without line breaks; undefined for what is none. */
function image(mimeType: string, data: string): Part[] | undefined {
  const base64 = data.replaceAll(/\s/g, "").replaceAll("-", "+").replaceAll("_", "/");
  // `\w` takes a sixth of the time of its letters, and there is no `_`
  if (!/^[\w+/]+={0,2}$/.test(base64) || base64.startsWith(pdfStart)) return undefined;
  if (!/^image\/[a-z0-9.+-]+$/i.test(mimeType)) return undefined;
  const type = mimeType.toLowerCase();
  return [{ type: "image", mimeType: imageAliases[type] ?? type, base64 }];
}

function decoded(base64: string): string | undefined {
  try {
    const isPlain = !/[\s_-]/.test(base64);
    const letters = atob(isPlain ? base64 : base64.replace(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = new Uint8Array(letters.length);
    // A loop: a call for each of some millions of bytes holds everybody for a second.
    for (let at = 0; at < bytes.length; at++) bytes[at] = letters.charCodeAt(at);
    return new TextDecoder().decode(bytes);
  } catch {
    return undefined;
  }
}

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
