import { isAscii } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import { MillraceError } from "../../base/errors.ts";
import { parseJson } from "../../base/json.ts";
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
    return orInvalid((): unknown => parseJson(this.#pieces.join("") + (this.#decoder?.decode() ?? "")));
  }
}

function orInvalid<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new MillraceError("invalid_request", "The body is not valid JSON.", { cause });
  }
}

/** Real schemas nest some ten levels; a far deeper body is meant to exhaust the stack. */
const mostLevels = 200;

/** Values and member names in a body. A conversation of 10,000 messages has some 100,000. */
const mostValues = 250_000;

/** Bytes of a body beside its images and files. */
const mostText = 8 * 1024 * 1024;

/** No text has so long a run of the letters of base64; an image is one run. */
const leastRun = 4_096;

const base64 = new Uint8Array(256);
for (const letter of Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_"))
  base64[letter] = 1;

const [quote, backslash, slash, comma, colon] = [0x22, 0x5c, 0x2f, 0x2c, 0x3a];
const [openList, openObject, closeList, closeObject] = [0x5b, 0x7b, 0x5d, 0x7d];

/**
 * Counts the cost of JSON before it is parsed, while its bytes arrive: one pass, no memory. What is no JSON passes, because the
 * parser refuses it.
 */
export class JsonScan {
  /** Commas, colons and brackets outside strings: about one for each value and member name. */
  #values = 0;
  #levels = 0;
  #deepest = 0;
  #text = 0;
  /** Letters of base64 at the end, when a string is open. */
  #run = 0;
  #isInString = false;
  #isEscaped = false;

  /** @throws MillraceError `invalid_request` when it is nested too deep, and with status 413 when it has too much text or too many values. */
  push(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) at = this.#isInString ? this.#string(bytes, at) : this.#between(bytes, at);
    this.#refuseExcess();
  }

  /** Reads on in a string, up to its end or that of the bytes. Local variables: a field for each byte takes five times as long. */
  #string(bytes: Uint8Array, from: number): number {
    let [run, text, isEscaped] = [this.#run, 0, this.#isEscaped];
    let at = from;
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (base64[byte] === 1 && (!isEscaped || byte === slash)) run++;
      else {
        if (byte === backslash && !isEscaped) {
          isEscaped = true;
          continue;
        }
        text += run < leastRun ? run + 1 : 1;
        run = 0;
        if (byte === quote && !isEscaped) {
          this.#isInString = false;
          at++;
          break;
        }
      }
      isEscaped = false;
    }
    this.#run = run;
    this.#text += text;
    this.#isEscaped = isEscaped;
    return at;
  }

  #between(bytes: Uint8Array, from: number): number {
    let [values, levels, deepest] = [this.#values, this.#levels, this.#deepest];
    let at = from;
    while (at < bytes.length && !this.#isInString) {
      const byte = bytes[at++];
      if (byte === quote) this.#isInString = true;
      else if (byte === comma || byte === colon) values++;
      else if (byte === closeList || byte === closeObject) levels--;
      else if (byte === openList || byte === openObject) {
        values++;
        levels++;
        if (levels > deepest) deepest = levels;
      }
    }
    this.#text += at - from;
    this.#values = values;
    this.#levels = levels;
    this.#deepest = deepest;
    return at;
  }

  #refuseExcess(): void {
    if (this.#deepest > mostLevels)
      throw new MillraceError("invalid_request", `The body is nested more than ${mostLevels} levels deep.`);
    const hint = "Start a new conversation, or send fewer messages, tools and files.";
    const [values, text] = [mostValues.toLocaleString("en"), `${mostText / 1024 / 1024} MB`];
    if (this.#values > mostValues) throw notServed(413, `The body has more than ${values} JSON values.`, hint);
    if (this.#text > mostText)
      throw notServed(413, `The body has more than ${text} beside images and files in base64.`, hint);
  }
}
