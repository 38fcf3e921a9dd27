import type { Part } from "../../log/request.ts";
import { refuse } from "./parse-body.ts";

const dataUrl = /^data:(image\/[a-z0-9.+-]+)(?:;[^,;]+)*;base64,([A-Za-z0-9+/=_-\s]*)$/i;

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
  const match = dataUrl.exec(url);
  if (match === null) {
    if (url.startsWith("data:"))
      throw refuse(param, "This data URL is not a base64 image (`data:image/png;base64,...`).");
    throw refuse(
      param,
      "Remote images are not fetched.",
      "Send the image inside the request, as a data URL (`data:image/png;base64,...`).",
    );
  }
  const [, mimeType = "", data = ""] = match;
  return imageFromBase64(mimeType, data, param);
}

/** An image given as base64, standard or URL-safe, with or without line breaks. */
export function imageFromBase64(mimeType: string, data: string, param: string): Part {
  const base64 = data.replaceAll(/\s/g, "").replaceAll("-", "+").replaceAll("_", "/");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw refuse(param, "The image is empty or not base64.");
  if (!/^image\/[a-z0-9.+-]+$/i.test(mimeType))
    throw refuse(param, `\`${mimeType.slice(0, 60)}\` is not an image type.`);
  return { type: "image", mimeType: mimeType.toLowerCase(), base64 };
}
