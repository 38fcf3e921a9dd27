import type { Part } from "../../log/request.ts";
import { bounds } from "./bounds.ts";
import type { History } from "./history.ts";
import { imageFromBase64, refuse, textParts } from "./parse-body.ts";

const texts =
  /^(?:text\/|application\/(?:json|xml|yaml|x-yaml|toml|javascript|typescript|x-sh|sql|x-ndjson)\b|[a-z]+\/[\w.-]+\+(?:json|xml)\b)/i;
const dataUrl = /^data:([^,;]*)(?:;[^,]*)?,/;

/**
 * The parts of a file of type `type` (as the API calls it): a text is read, a picture is a picture. Other files cannot be read: in the
 * history, a note stands in their place.
 *
 * @throws MillraceError `invalid_request` for another file in the newest request.
 */
export function fileParts(
  history: History,
  type: string,
  path: string,
  {
    name,
    data,
    mimeType,
    elsewhere,
  }: {
    readonly name?: string | null | undefined;
    /** Base64, alone or as a data URL. */
    readonly data?: string | null | undefined;
    readonly mimeType?: string | null | undefined;
    /** An address or an upload. */
    readonly elsewhere?: string | null | undefined;
  },
): Part[] {
  const start = data ? dataUrl.exec(data.slice(0, bounds.dataUrlStart)) : null;
  const given = start?.[1] || mimeType || "";
  const isPdf = given === "application/pdf" || /\.pdf$/i.test(name ?? elsewhere ?? "");
  const kind = isPdf
    ? "a PDF"
    : given.startsWith("audio/")
      ? "an audio file"
      : given.startsWith("video/")
        ? "a video"
        : "a file";
  const what = name ? `${name.slice(0, 200)}: ${kind}` : kind;
  return history.readFile(type, what, () => {
    if (!data) throw refuse(path, "Uploaded and remote files are not kept or fetched here.", "Send the file's text.");
    const content = start === null ? data : data.slice(start[0].length);
    if (/^image\//i.test(given)) return [imageFromBase64(given, content, path)];
    if (!texts.test(given) || isPdf)
      throw refuse(
        path,
        isPdf ? "PDFs cannot be read here." : "Only text and images can be read here.",
        "Send the file's text: extract it with a command.",
      );
    const isEncoded = start === null || /;base64,$/i.test(start[0]);
    return textParts([
      ...(name ? [`${name}\n`] : []),
      isEncoded ? decoded(content, path) : decodeURIComponent(content),
    ]);
  });
}

function decoded(base64: string, path: string): string {
  try {
    const isPlain = !/[\s_-]/.test(base64);
    const letters = atob(isPlain ? base64 : base64.replace(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = new Uint8Array(letters.length);
    // A loop: a call for each of some millions of bytes holds everybody for a second.
    for (let at = 0; at < bytes.length; at++) bytes[at] = letters.charCodeAt(at);
    return new TextDecoder().decode(bytes);
  } catch {
    throw refuse(path, "The file is not base64.");
  }
}
