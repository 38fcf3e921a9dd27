import { isAscii } from "node:buffer";
import { randomUUID } from "node:crypto";
import { MillraceError } from "../../base/errors.ts";
import { parseJson, withTexts } from "../../base/json.ts";
import { ownTurn } from "../../base/node/unhurried.ts";
import { bounds } from "../dialects/bounds.ts";
import { type JsonCost, JsonScan } from "./json-scan.ts";
import { busy, tooLarge } from "./refusal.ts";

/** Bytes of all bodies that are being read or answered at one moment, beside the first bytes of each. */
const mostAtOnce = 128 * 1024 * 1024;

/** Of these, the part that issued keys have together: the rest is the owner's. */
const mostOfIssuedKeys = mostAtOnce / 2;

/** A body up to this size is always read: large ones of other clients do not keep it out. */
const alwaysRead = 256 * 1024;

/** A value in memory, beside its text: `{}` is a small object. */
const bytesOfValue = 64;

/** The memory of one body, or of all that one connection keeps. */
export interface BodyMemory {
  /** Counts so many bytes now, in place of those before. @throws MillraceError `unavailable` if other bodies take all memory; then nothing changes. */
  hold(bytes: number): void;
}

/** The memory that a body of this cost takes once it is parsed. */
export function memoryOf({ bytes, values }: JsonCost): number {
  return bytes + values * bytesOfValue;
}

/** Reads bodies, of HTTP and of WebSockets, and bounds the memory that all of them take together. */
export class Bodies {
  readonly mostBytes: number;
  #held = 0;
  #heldByIssuedKeys = 0;

  /** `mostBytes`: of one body. */
  constructor(mostBytes: number) {
    this.mostBytes = mostBytes;
  }

  /**
   * Reads a body and gives it to `use`, with its cost; its memory counts until that ends. Each limit holds before more memory is taken.
   * An empty body is an empty object.
   *
   * @throws MillraceError `invalid_request` when it is not UTF-8 JSON or nested too deep, and with status 413 when it is too large;
   * `unavailable` while other large bodies take all memory.
   */
  async read<T>(
    bytes: AsyncIterable<Uint8Array>,
    use: (json: unknown, cost: JsonCost) => Promise<T> | T,
    {
      length = "0",
      isOwners = true,
    }: {
      /** The `content-length` that the client gave; it may be wrong. */
      readonly length?: string | undefined;
      /** Whether the body comes with the owner's key: issued keys share half of the memory. */
      readonly isOwners?: boolean;
    } = {},
  ): Promise<T> {
    if (Number(length) > this.mostBytes) throw tooLarge(this.mostBytes);
    const memory = this.memory(isOwners);
    try {
      const scan = new JsonScan();
      const json = await this.#readCounted(bytes, scan, memory);
      return await use(json, scan.cost);
    } finally {
      memory.hold(0);
    }
  }

  /** Memory that is counted with the bodies. Its first bytes are always there. */
  memory(isOwners: boolean): BodyMemory {
    let counted = 0;
    return {
      hold: (bytes) => {
        const more = Math.max(0, bytes - alwaysRead) - counted;
        const isFull =
          this.#held + more > mostAtOnce || (!isOwners && this.#heldByIssuedKeys + more > mostOfIssuedKeys);
        if (more > 0 && isFull) throw busy("The gateway is reading too many large bodies.");
        counted += more;
        this.#held += more;
        if (!isOwners) this.#heldByIssuedKeys += more;
      },
    };
  }

  async #readCounted(bytes: AsyncIterable<Uint8Array>, scan: JsonScan, memory: BodyMemory): Promise<unknown> {
    const text = new BodyText();
    let size = 0;
    for await (const piece of bytes) {
      size += piece.byteLength;
      if (size > this.mostBytes) throw tooLarge(this.mostBytes); // leaving the loop gives the rest up
      scan.push(piece);
      memory.hold(memoryOf(scan.cost));
      text.push(piece, scan.cuts);
    }
    if (size <= alwaysRead) return size === 0 ? {} : orInvalid(() => text.parse(text.whole()));
    await ownTurn();
    const whole = text.whole();
    await ownTurn();
    const json = orInvalid(() => text.parse(whole));
    await ownTurn(); // the caller takes its own time
    return json;
  }
}

/** From so many letters on, an image is kept apart. */
const longImage = 65_536;
/** What may stand before an image's data, without an escape. */
const plainStart = /^[ !#-[\]-~]*$/;

/**
 * The text of a body, decoded while it arrives: 8 MB in one go would hold the event loop. Large images are kept apart, and the text has a mark
 * in their place: to join 20 MB and to parse them took 0.3 s.
 */
class BodyText {
  readonly #pieces: string[] = [];
  readonly #mark = `${randomUUID()}:`;
  readonly #images: string[] = [];
  /** The string that is read now, if it may be an image. */
  #image: Uint8Array[] | undefined;
  #decoder: InstanceType<typeof TextDecoder> | undefined;

  /** `cuts`: as of `JsonScan`, in this piece. */
  push(piece: Uint8Array, cuts: JsonScan["cuts"]): void {
    let from = 0;
    for (const { at, run } of cuts) {
      this.#push(piece.subarray(from, at));
      from = at;
      if (this.#image === undefined) this.#image = [];
      else this.#endImage(run);
    }
    this.#push(piece.subarray(from));
  }

  #push(piece: Uint8Array): void {
    if (this.#image === undefined) this.#pushText(piece);
    else this.#image.push(piece);
  }

  #endImage(run: number): void {
    const pieces = this.#image ?? [];
    this.#image = undefined;
    const start = pieces.reduce((sum, { length }) => sum + length, -run);
    const hasEscape = () => pieces.some((piece) => piece.includes(0x5c));
    const isImage = run >= longImage && start <= bounds.dataUrlStart && !hasEscape();
    const image = isImage ? pieces.reduce((text, piece) => text + latin1(piece), "") : ""; // not copied once more
    if (image === "" || !plainStart.test(image.slice(0, start))) for (const piece of pieces) this.#pushText(piece);
    else this.#pushText(Buffer.from(`${this.#mark}${this.#images.push(image) - 1}`));
  }

  #pushText(piece: Uint8Array): void {
    // ASCII is the same as Latin-1, which is ten times faster
    if (this.#decoder === undefined && isAscii(piece)) {
      this.#pieces.push(latin1(piece));
      return;
    }
    this.#decoder ??= new TextDecoder("utf-8", { fatal: true, ignoreBOM: this.#pieces.length > 0 });
    const decoder = this.#decoder;
    this.#pieces.push(orInvalid(() => decoder.decode(piece, { stream: true })));
  }

  whole(): string {
    return orInvalid(() => this.#pieces.join("") + (this.#decoder?.decode() ?? ""));
  }

  /** The value of its text, with its images. @throws SyntaxError */
  parse(whole: string): unknown {
    const json = this.#image === undefined ? parseJson(whole) : parseJson(""); // an image that does not end
    return this.#images.length === 0 ? json : withTexts(json, this.#mark, this.#images);
  }
}

function latin1(piece: Uint8Array): string {
  return Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString("latin1");
}

function orInvalid<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new MillraceError("invalid_request", "The body is not valid JSON.", { cause });
  }
}
