import { MillraceError } from "../../base/errors.ts";
import { notServed } from "./refusal.ts";

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
