import { Readable, type Transform } from "node:stream";
import zlib from "node:zlib";
import { MillraceError } from "../../base/errors.ts";
import { writeJson } from "../../base/json.ts";
import { Refusal } from "./refusal.ts";

/** Node has zstd since 22.15 and 23.8. */
const { createZstdDecompress } = zlib as { readonly createZstdDecompress?: () => Transform };

/** Decoders by the name of the coding. Source: RFC 9110, 8.4.1, RFC 7932 and RFC 8878. */
const decoders: Readonly<Record<string, (() => Transform) | undefined>> = {
  gzip: () => zlib.createGunzip(),
  "x-gzip": () => zlib.createGunzip(),
  deflate: () => zlib.createInflate(),
  br: () => zlib.createBrotliDecompress(),
  zstd: createZstdDecompress,
};

/** A body is coded once, in some clients twice. */
const mostCodings = 3;

/**
 * The bytes of a body as they were before their `content-encoding`. They come in pieces of some 16 KB, so that the reader's limits hold
 * for the decoded size before more memory is taken.
 *
 * @throws Refusal with status 415 for a coding that cannot be decoded; while it is read, MillraceError `invalid_request` for bytes that
 * are not in it.
 */
export function decodedBody(bytes: AsyncIterable<Uint8Array>, header: string | undefined): AsyncIterable<Uint8Array> {
  const codings = (header ?? "").toLowerCase().split(",");
  const applied = codings.map((coding) => coding.trim()).filter((coding) => coding !== "" && coding !== "identity");
  if (applied.length > mostCodings) throw unknownCoding(header ?? "");
  return applied.toReversed().reduce((body, coding) => {
    const decoder = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
    if (decoder === undefined) throw unknownCoding(coding);
    return decoded(body, decoder, coding);
  }, bytes);
}

async function* decoded(
  bytes: AsyncIterable<Uint8Array>,
  open: () => Transform,
  coding: string,
): AsyncGenerator<Uint8Array, void> {
  const source = Readable.from(bytes, { objectMode: false });
  const decoder = open();
  source.once("error", (error) => decoder.destroy(error));
  source.pipe(decoder);
  try {
    yield* decoder as AsyncIterable<Uint8Array>;
  } catch (cause) {
    if (source.errored) throw source.errored;
    throw new MillraceError("invalid_request", `The body is not in its content-encoding, ${coding}.`, { cause });
  } finally {
    source.destroy();
    decoder.destroy();
  }
}

function unknownCoding(coding: string): Refusal {
  const known = Object.keys(decoders).filter((name) => decoders[name] !== undefined && name !== "x-gzip");
  const message = `This gateway cannot decode a body with content-encoding ${writeJson(coding.slice(0, 60))}.`;
  return new Refusal("unknown_coding", message, {
    hint: `Send it with one of ${known.join(", ")}, or without content-encoding.`,
  });
}
