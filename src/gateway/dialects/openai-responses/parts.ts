import { z } from "zod";
import type { Part } from "../../../log/request.ts";
import { fileParts } from "../files.ts";
import type { History } from "../history.ts";
import { imageFromUrl, parseAt, refuse, textParts } from "../parse-body.ts";

const anyPart = z.looseObject({ type: z.string() });
/** The content of a message, and the output of a call: a text, or parts that are read one by one. */
export const content = z.union([z.string(), z.array(z.unknown())]);
/** A content as parts; parts of types that are not known are left out. Throws `invalid_request` with the path. */
export function parseContent(
  given: string | readonly unknown[] | null | undefined,
  path: string,
  history: History,
): Part[] {
  if (given === null || given === undefined) return [];
  if (typeof given === "string") return textParts([given]);
  return given.flatMap((part, i) => parsePart(part, `${path}[${i}]`, history));
}

const textPart = z.object({ text: z.string() });
const refusalPart = z.object({ refusal: z.string() });
const imagePart = z.object({ image_url: z.union([z.string(), z.object({ url: z.string() })]).nullish() });
const filePart = z.object({
  filename: z.string().nullish(),
  file_data: z.string().nullish(),
  file_url: z.string().nullish(),
  file_id: z.string().nullish(),
});

/** The same for one part. */
export function parsePart(given: unknown, path: string, history: History): Part[] {
  const part = history.read("part", () => parseAt(anyPart, given, path), undefined);
  switch (part?.type) {
    case undefined:
      return [];
    case "input_text":
    case "output_text":
    case "text":
    case "summary_text":
    case "reasoning_text":
      return history.read("text", () => textParts([parseAt(textPart, part, path).text]), []);
    case "refusal":
      return history.read("refusal", () => textParts([parseAt(refusalPart, part, path).refusal]), []);
    case "input_image":
    case "computer_screenshot":
      return history.readFile("input_image", "an image", () => {
        const { image_url: url } = parseAt(imagePart, part, path);
        if (!url) throw refuse(path, "Uploaded files are not kept here.", "Send the image as a data URL.");
        return [imageFromUrl(typeof url === "string" ? url : url.url, `${path}.image_url`)];
      });
    case "input_file": {
      const file = history.read("input_file", () => parseAt(filePart, part, path), undefined);
      const elsewhere = file?.file_url ?? file?.file_id;
      return fileParts(history, "input_file", path, { name: file?.filename, data: file?.file_data, elsewhere });
    }
    case "input_audio":
      return history.readFile("input_audio", "an audio file", () => {
        throw refuse(path, "Content of type `input_audio` is not supported; text and images are.");
      });
    default:
      history.leaveOut(part?.type ?? "part");
      return [];
  }
}
