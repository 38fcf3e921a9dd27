import { MillraceError } from "../../base/errors.ts";

/** Real schemas nest some ten levels; a far deeper body is meant to exhaust the stack. */
const deepestBody = 200;

/** A body as it came and as JSON, or that it is larger than allowed. */
export type Body = { readonly tooLarge: false; readonly json: unknown } | { readonly tooLarge: true };

/**
 * Reads a body of at most `maxBytes`; the limit holds before memory is taken, even if `content-length` is wrong. An empty
 * body is an empty object.
 *
 * @throws MillraceError `invalid_request` when it is not UTF-8 JSON.
 */
export async function readJson(request: Request, maxBytes: number): Promise<Body> {
  const announced = Number(request.headers.get("content-length") ?? "0");
  if (announced > maxBytes) return { tooLarge: true };
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of request.body ?? []) {
    size += piece.byteLength;
    if (size > maxBytes) return { tooLarge: true }; // leaving the loop gives the rest up
    pieces.push(piece);
  }
  return { tooLarge: false, json: parseJson(join(pieces, size)) };
}

function join(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}

function parseJson(bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) return {};
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new MillraceError("invalid_request", "The body is not valid JSON.", { cause });
  }
  if (isDeeper(body, deepestBody)) {
    throw new MillraceError("invalid_request", `The body is nested more than ${deepestBody} levels deep.`);
  }
  return body;
}

/** Whether a value nests more than `levels` deep; never recurses deeper than that itself. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Object.values(value)) if (isDeeper(inner, levels - 1)) return true;
  return false;
}
