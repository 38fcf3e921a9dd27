import { MillraceError } from "../../base/errors.ts";
import { bounds } from "../dialects/bounds.ts";
import { Refusal } from "./refusal.ts";

/** What JSON costs. */
export interface JsonCost {
  readonly bytes: number;
  /** Values and names of members. */
  readonly values: number;
  /** Bytes beside images and files. */
  readonly text: number;
}

const { text: mostText, values: mostValues, levels: mostLevels } = bounds.body;

/** @throws MillraceError `invalid_request` with status 413 when it has too much text or too many values. */
export function refuseCostly({ values, text }: JsonCost): void {
  if (values <= mostValues && text <= mostText) return;
  const hint = "Start a new conversation, or send fewer messages, tools and files.";
  const [most, megabytes] = [mostValues.toLocaleString("en"), `${mostText / 1024 / 1024} MB`];
  if (values > mostValues) throw new Refusal("too_large", `The body has more than ${most} JSON values.`, { hint });
  throw new Refusal("too_large", `The body has more than ${megabytes} beside images and files in base64.`, { hint });
}

/** No text has so long a run of the letters of base64; an image is one run. */
const leastRun = 4_096;

/** Members of a body that hold conversations, and so images. */
const holders: ReadonlySet<string> = new Set(["messages", "input", "images", "contents"]);
/** Members whose text is an image or a file where an API has them: an address of data, or base64 alone. */
const images: ReadonlySet<string> = new Set(["url", "image_url", "data", "file_data", "images"]);
/** Members of a message that hold what a tool is called with: no image of the request. */
const calls: ReadonlySet<string> = new Set(["input", "arguments", "args"]);
const longestName = 16;

const base64 = new Uint8Array(256);
for (const letter of Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_"))
  base64[letter] = 1;

const [quote, backslash, slash, comma, colon] = [0x22, 0x5c, 0x2f, 0x2c, 0x3a];
const [openList, openObject, closeList, closeObject] = [0x5b, 0x7b, 0x5d, 0x7d];

/**
 * Counts the cost of JSON before it is parsed, while its bytes arrive: one pass, and no memory but a name for each level.
 * Text that is no JSON passes: the parser refuses it.
 */
export class JsonScan {
  #bytes = 0;
  /** Commas, colons and brackets outside strings: about one for each value and member name. */
  #values = 0;
  #text = 0;
  /** The name of the member that is read at each level. Level 1 is the body; the elements of a list have the list's own name. */
  readonly #names: string[] = [""];
  readonly #isList: boolean[] = [false];
  /** Letters of base64 at the end, when a string is open. */
  #run = 0;
  #isInString = false;
  #isEscaped = false;
  /** The beginning of the last member's name, up to one letter more than a known name has. */
  #string = "";
  /** Whether the string that is open names a member. */
  #isName = false;
  /** Whether an image can stand in the string that is open. */
  #isImage = false;
  readonly #carriers: ReadonlySet<string>;
  #cuts: { readonly at: number; readonly run: number }[] = [];

  /** `carriers`: members of the body itself that hold another message in base64 or hexadecimal. That one is counted by itself. */
  constructor(carriers: ReadonlySet<string> = new Set()) {
    this.#carriers = carriers;
  }

  get cost(): JsonCost {
    return { bytes: this.#bytes, values: this.#values, text: this.#text };
  }

  /** Where a string that may be an image begins, and where it ends, in the bytes that came last. `run`: letters of base64 before its end. */
  get cuts(): readonly { readonly at: number; readonly run: number }[] {
    return this.#cuts;
  }

  /** @throws MillraceError `invalid_request` when it is nested too deep, or costs too much (`refuseCostly`). */
  push(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    this.#cuts = [];
    let at = 0;
    while (at < bytes.length) at = this.#isInString ? this.#inString(bytes, at) : this.#between(bytes, at);
    refuseCostly(this.cost);
  }

  /** Reads on in a string, up to its end or that of the bytes. Local variables: a field for each byte takes five times as long. */
  #inString(bytes: Uint8Array, from: number): number {
    let [run, text, isEscaped] = [this.#run, 0, this.#isEscaped];
    const isImage = this.#isImage;
    let at = from;
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (base64[byte] === 1 && (!isEscaped || byte === slash)) run++;
      else {
        if (byte === backslash && !isEscaped) {
          isEscaped = true;
          continue;
        }
        text += run < leastRun || !isImage ? run + 1 : 1;
        if (byte === quote && !isEscaped) {
          if (isImage) this.#cuts.push({ at, run });
          this.#isInString = false;
          run = 0;
          at++;
          break;
        }
        run = 0;
      }
      isEscaped = false;
    }
    if (!isImage) {
      text += run; // a long run may never end
      run = 0;
    }
    this.#run = run;
    this.#text += text;
    this.#isEscaped = isEscaped;
    if (!this.#isName) return at;
    const end = Math.min(at - (this.#isInString ? 0 : 1), from + longestName + 1 - this.#string.length);
    for (let letter = from; letter < end; letter++) this.#string += String.fromCharCode(bytes[letter] ?? 0);
    return at;
  }

  #between(bytes: Uint8Array, from: number): number {
    let values = this.#values;
    const [names, isList] = [this.#names, this.#isList];
    let at = from;
    while (at < bytes.length && !this.#isInString) {
      const byte = bytes[at++];
      if (byte === quote) {
        this.#isInString = true;
        this.#isName = isList.at(-1) === false && names.at(-1) === "";
        this.#isImage = !this.#isName && this.#mayBeImage();
        if (this.#isName) this.#string = "";
        if (this.#isImage) this.#cuts.push({ at, run: 0 });
      } else if (byte === comma) {
        values++;
        if (isList.at(-1) === false) names[names.length - 1] = "";
      } else if (byte === colon) {
        values++;
        names[names.length - 1] = this.#string;
      } else if (byte === closeList || byte === closeObject) {
        if (names.length === 1) continue; // no JSON
        names.pop();
        isList.pop();
      } else if (byte === openList || byte === openObject) {
        values++;
        names.push(byte === openList ? (names.at(-1) ?? "") : "");
        isList.push(byte === openList);
        if (names.length > mostLevels + 1)
          throw new MillraceError("invalid_request", `The body is nested more than ${mostLevels} levels deep.`);
      }
    }
    this.#text += at - from;
    this.#values = values;
    return at;
  }

  #mayBeImage(): boolean {
    const names = this.#names;
    if (names.length === 2 && this.#carriers.has(names[1] ?? "")) return true;
    if (!images.has(names.at(-1) ?? "") || !holders.has(names[1] ?? "")) return false;
    return !names.some((name, level) => level > 1 && this.#isList[level] === false && calls.has(name));
  }
}
