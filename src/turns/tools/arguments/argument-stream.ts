import { isObject } from "../../../base/json.ts";
import type { SchemaCheck } from "./schema-check.ts";

type Expect = "object" | "key" | "colon" | "value" | "comma";

/**
 * Reads one JSON object as it grows and decides which part of it may be sent before it is whole: the text of an unconstrained
 * top-level string, once everything before it is valid and no required member is missing. So sent text never has to be taken back: at
 * worst the model is asked again for the rest of the object.
 *
 * `push` takes text up to the object's closing brace. A raw line break in a string is sent as its escape.
 */
export class ArgumentStream {
  /** The text taken so far, as the model wrote it. */
  raw = "";
  /** The arguments passed on so far: the beginning of strict JSON. */
  sent = "";
  /** Whether the closing brace was taken. */
  closed = false;
  /** Whether the text is not a strict JSON object; it then ends at its closing tag. */
  malformed = false;
  readonly #check: SchemaCheck;
  #expect: Expect = "object";
  #depth = 0;
  #inString = false;
  /** Whether a top-level number or constant is being written. */
  #bare = false;
  #escape = "";
  #keyStart = 0;
  /** End of the last whole top-level member. */
  #wholeUntil = 0;
  /** Whether the top-level string that is open may be sent as it grows. */
  #streaming = false;
  #highSurrogate = "";

  readonly #eager: boolean;

  /** `eager`: send members as they get whole and valid, without waiting for the required ones. */
  constructor(check: SchemaCheck, eager = false) {
    this.#check = check;
    this.#eager = eager;
  }

  /** Takes text up to the end of the object. Returns how much of it was taken, and the text that may be sent now. */
  push(text: string): { readonly taken: number; readonly send: string } {
    const sentBefore = this.sent.length;
    let taken = 0;
    while (taken < text.length && !this.closed) {
      const char = text.charAt(taken++);
      this.raw += char;
      if (!this.malformed) this.#step(char);
    }
    return { taken, send: this.sent.slice(sentBefore) };
  }

  #step(char: string): void {
    if (this.#inString) {
      this.#stepInString(char);
      return;
    }
    if (!/[\w.+-]/.test(char)) this.#bare = false;
    if (char === '"') this.#openString();
    else if (/\s/.test(char)) return;
    else if (char === "{" || char === "[") this.#open(char);
    else if (char === "}" || char === "]") this.#close(char);
    else if (this.#depth === 1) this.#punctuation(char);
    else if (this.#depth === 0) this.malformed = true;
  }

  #open(char: string): void {
    if (this.#depth === 0) {
      if (char === "{") this.#expect = "key";
      else this.malformed = true;
    } else if (this.#depth === 1) {
      if (this.#expect === "value") this.#expect = "comma";
      else this.malformed = true;
    }
    this.#depth++;
  }

  #close(char: string): void {
    this.#depth--;
    if (this.#depth === 0) this.closed = char === "}";
    if (this.#depth < 0 || (this.#depth === 0 && char === "]")) this.malformed = true;
  }

  #punctuation(char: string): void {
    if (char === ":" && this.#expect === "colon") this.#expect = "value";
    else if (char === "," && this.#expect === "comma") {
      this.#expect = "key";
      this.#wholeUntil = this.raw.length - 1;
      if (this.#eager) this.#sendWhole();
    } else if (this.#expect === "value" || (this.#expect === "comma" && this.#bare)) {
      this.#expect = "comma"; // a number or a constant: judged when the whole is parsed
      this.#bare = true;
    } else this.malformed = true;
  }

  #openString(): void {
    this.#inString = true;
    if (this.#depth === 0) this.malformed = true;
    if (this.#depth !== 1) return;
    if (this.#expect === "key") this.#keyStart = this.raw.length - 1;
    else if (this.#expect === "value") this.#beginValue();
    else this.malformed = true;
  }

  /** The top-level members that are whole; undefined if they are not strict JSON, or if the sent text differs from the written text. */
  #wholeMembers(): Readonly<Record<string, unknown>> | undefined {
    if (!this.#sentIsRaw()) return undefined;
    const members = this.#wholeUntil === 0 ? {} : parsed(`${this.raw.slice(0, this.#wholeUntil)}}`);
    return isObject(members) ? members : undefined;
  }

  #sendWhole(): void {
    const members = this.#wholeMembers();
    if (members !== undefined && this.#check.fitsSoFar(members)) this.sent = this.raw.slice(0, this.#wholeUntil);
  }

  #beginValue(): void {
    const key = parsed(this.raw.slice(this.#keyStart, this.raw.lastIndexOf(":")).trim());
    const members = this.#wholeMembers();
    if (typeof key !== "string" || members === undefined || Object.hasOwn(members, key)) return;
    const missing = this.#check.required.some((name) => name !== key && !Object.hasOwn(members, name));
    if ((missing && !this.#eager) || !this.#check.isFreeText(key)) return;
    if (!this.#check.fitsSoFar({ ...members, [key]: "" })) return;
    this.#streaming = true;
    this.sent = this.raw;
  }

  /** Whether all that was sent is the text as written, so that sending can go on after it. */
  #sentIsRaw(): boolean {
    return this.raw.startsWith(this.sent);
  }

  #stepInString(char: string): void {
    if (this.#escape !== "") {
      this.#escape += char;
      if (this.#escape === "\\u" || /^\\u[\da-f]{1,3}$/i.test(this.#escape)) return;
      const whole = this.#escape;
      this.#escape = "";
      if (/^\\(?:["\\/bfnrt]|u[\da-f]{4})$/i.test(whole)) this.#send(whole);
      else this.#streaming = false; // an escape that JSON does not know: left to the repair of the whole
    } else if (char === "\\") this.#escape = char;
    else if (char === '"') this.#closeString();
    else this.#send(char < " " ? JSON.stringify(char).slice(1, -1) : char);
  }

  #closeString(): void {
    this.#inString = false;
    this.#streaming = false;
    this.#highSurrogate = "";
    if (this.#depth === 1) this.#expect = this.#expect === "key" ? "colon" : "comma";
  }

  /** Sends a character of the open string; half of a surrogate pair waits for the other half. */
  #send(text: string): void {
    if (!this.#streaming) return;
    if (/^[\ud800-\udbff]$/.test(text)) {
      this.#highSurrogate = text;
      return;
    }
    this.sent += this.#highSurrogate + text;
    this.#highSurrogate = "";
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not strict: nothing is sent early
  }
}
