import type { Part } from "../../log/request.ts";
import { refuse } from "./parse-body.ts";

/** What stands before the data. Matched apart from them: an expression over 40 MB of data takes 130 ms. */
const dataUrlStart = /^data:(image\/[a-z0-9.+-]+)(?:;[^,;]+)*;base64$/i;
const longestStart = 1_000;

/** Texts as parts; empty ones are no part. */
export function textParts(texts: readonly string[]): Part[] {
  return texts.filter((text) => text !== "").map((text) => ({ type: "text", text }));
}

/**
 * An image that the caller sent inside the request.
 *
 * @throws MillraceError `invalid_request` for an address that would have to be fetched: the gateway fetches nothing.
 */
export function imageFromUrl(url: string, param: string): Part {
  const comma = url.slice(0, longestStart).indexOf(",");
  const match = comma < 0 ? null : dataUrlStart.exec(url.slice(0, comma));
  if (match === null) {
    if (url.startsWith("data:"))
      throw refuse(param, "This data URL is not a base64 image (`data:image/png;base64,...`).");
    throw refuse(
      param,
      "Remote images are not fetched.",
      "Send the image inside the request, as a data URL (`data:image/png;base64,...`).",
    );
  }
  const [, mimeType = ""] = match;
  return imageFromBase64(mimeType, url.slice(comma + 1), param);
}

/** An image given as base64, standard or URL-safe, with or without line breaks. */
export function imageFromBase64(mimeType: string, data: string, param: string): Part {
  const base64 = data.replaceAll(/\s/g, "").replaceAll("-", "+").replaceAll("_", "/");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw refuse(param, "The image is empty or not base64.");
  if (!/^image\/[a-z0-9.+-]+$/i.test(mimeType))
    throw refuse(param, `\`${mimeType.slice(0, 60)}\` is not an image type.`);
  return { type: "image", mimeType: mimeType.toLowerCase(), base64 };
}
