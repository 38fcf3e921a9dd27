import { isAscii } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import { MillraceError } from "../../base/errors.ts";
import { JsonScan } from "./json-scan.ts";
import { busy, notServed } from "./refusal.ts";

/** Bytes of all bodies that are being read or answered at one moment, beside the first bytes of each. */
const mostAtOnce = 128 * 1024 * 1024;

/** A body up to this size is always read: large ones of other clients do not keep it out. */
const alwaysRead = 256 * 1024;

/** Reads bodies, and bounds the memory that all of them take together. */
export class Bodies {
  readonly #mostBytes: number;
  #held = 0;

  /** `mostBytes`: of one body. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /**
   * Reads a body and gives it to `use`; its memory counts until that ends. Each limit holds before more memory is taken, even if
   * `length`, the `content-length` that the client gave, is wrong. An empty body is an empty object.
   *
   * @throws MillraceError `invalid_request` when it is not UTF-8 JSON or nested too deep, and with status 413 when it is too large;
   * `unavailable` while other large bodies take all memory.
   */
  async read<T>(bytes: AsyncIterable<Uint8Array>, use: (json: unknown) => Promise<T> | T, length = "0"): Promise<T> {
    if (Number(length) > this.#mostBytes) throw this.#tooLarge();
    let counted = 0;
    const count = (size: number) => {
      const more = Math.max(0, size - alwaysRead) - counted;
      if (more > 0 && this.#held + more > mostAtOnce) throw busy("The gateway is reading too many large bodies.");
      counted += more;
      this.#held += more;
    };
    try {
      return await use(await this.#readCounted(bytes, count));
    } finally {
      this.#held -= counted;
    }
  }

  async #readCounted(bytes: AsyncIterable<Uint8Array>, count: (size: number) => void): Promise<unknown> {
    const scan = new JsonScan();
    const text = new BodyText();
    let size = 0;
    for await (const piece of bytes) {
      size += piece.byteLength;
      if (size > this.#mostBytes) throw this.#tooLarge(); // leaving the loop gives the rest up
      count(size);
      scan.push(piece);
      text.push(piece);
    }
    const json = size === 0 ? {} : text.parse();
    if (size > alwaysRead) await nextTurn(); // parsing took its time, and the caller takes its own
    return json;
  }

  #tooLarge(): MillraceError {
    const limit = `${Math.floor(this.#mostBytes / 1024 / 1024)} MB`;
    return notServed(413, `The body is larger than ${limit}.`, "Send fewer or smaller images.");
  }
}

/** The text of a body, decoded while it arrives: 8 MB in one go would hold the event loop. */
class BodyText {
  readonly #pieces: string[] = [];
  #decoder: InstanceType<typeof TextDecoder> | undefined;

  push(piece: Uint8Array): void {
    // ASCII is the same as Latin-1, which is ten times faster
    if (this.#decoder === undefined && isAscii(piece)) {
      this.#pieces.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString("latin1"));
      return;
    }
    this.#decoder ??= new TextDecoder("utf-8", { fatal: true, ignoreBOM: this.#pieces.length > 0 });
    const decoder = this.#decoder;
    this.#pieces.push(orInvalid(() => decoder.decode(piece, { stream: true })));
  }

  parse(): unknown {
    return orInvalid((): unknown => JSON.parse(this.#pieces.join("") + (this.#decoder?.decode() ?? "")));
  }
}

function orInvalid<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new MillraceError("invalid_request", "The body is not valid JSON.", { cause });
  }
}
