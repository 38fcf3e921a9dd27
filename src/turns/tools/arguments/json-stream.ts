import { isObject } from "../../../base/json.ts";
import { parsedJson } from "./json.ts";
import type { SchemaCheck } from "./schema-check.ts";

/** A key in a longer text is not looked for: its string is sent when it is whole. */
const longestKey = 1_000;
/** What may be sent of an open string: no half of an escape or of a surrogate pair. */
const safe = /(?:[^"\\\ud800-\udbff]|[\ud800-\udbff][\udc00-\udfff]|\\(?:["\\/bfnrt]|u[\da-f]{4}))*/iy;
const half = /^(?:[\ud800-\udbff]|\\(?:u[\da-f]{0,3})?)?$/i;

/**
 * Reads one JSON object as it grows and gives the part that may be sent before it is whole: valid top-level members, and the text of an
 * unconstrained top-level string. So sent text never has to be taken back: at worst the model is asked again for the rest of the object.
 * A raw line break in a string is sent as its escape. It looks at each character once.
 */
export class JsonStream {
  /** The text passed on so far: the beginning of strict JSON. */
  sent = "";
  readonly #check: SchemaCheck;
  readonly #keys = new Set<string>();
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** What was not sent yet: of a member, from the bracket or comma before it; of an open string that is sent as it grows, its last half character. */
  #unsent = "";
  #isStreaming = false;
  /** Nothing more is sent: the object is over, or no strict JSON that fits. */
  #isOver = false;

  constructor(check: SchemaCheck) {
    this.#check = check;
  }

  /** The text that may be sent now. */
  push(text: string): string {
    const before = this.sent.length;
    for (let rest = text; rest !== "" && !this.#isOver; )
      rest = this.#isStreaming ? this.#stream(rest) : this.#scan(rest);
    return this.sent.slice(before);
  }

  /** Reads up to the end of a member, or to the start of a string that is sent as it grows. Returns what follows. */
  #scan(text: string): string {
    for (let at = 0; at < text.length; at++) {
      const char = text.charAt(at);
      const isEscaped = this.#isEscaped;
      this.#isEscaped = this.#inString && char === "\\" && !isEscaped;
      if (char === '"' && !isEscaped) this.#inString = !this.#inString;
      if (this.#depth === 1 && char === '"' && this.#inString && this.#begins(this.#unsent + text.slice(0, at + 1)))
        return text.slice(at + 1);
      if (this.#inString) continue;
      if (char === "{" || char === "[") this.#depth++;
      if (char === "}" || char === "]") this.#depth--;
      if (this.#depth === 0) this.#isOver = true;
      if (this.#isOver) return "";
      if (char === "," && this.#depth === 1) {
        this.#endMember(this.#unsent + text.slice(0, at));
        return text.slice(at + 1);
      }
    }
    this.#unsent += text;
    return "";
  }

  /** Whether the string that opens at the end of this text is a member's value that is sent as it grows. */
  #begins(text: string): boolean {
    const member = text.length > longestKey ? undefined : parsedJson(`{${text.slice(1)}"}`);
    const [key] = isObject(member) ? Object.keys(member) : [];
    if (key === undefined || this.#keys.has(key) || !this.#check.isFreeText(key)) return false;
    if (!this.#check.fitsSoFar({ [key]: "" })) return false;
    this.#keys.add(key);
    this.sent += text;
    this.#unsent = "";
    this.#isStreaming = true;
    return true;
  }

  /** The comma after a member: it is sent if it fits. */
  #endMember(text: string): void {
    const isSent = text.trim() === '"'; // of a string that was sent as it grew, only its end is left
    const member = isSent ? undefined : parsedJson(`{${text.slice(1)}}`);
    const [key, ...more] = isObject(member) ? Object.keys(member) : [];
    const fits = isObject(member) && more.length === 0 && this.#check.fitsSoFar(member);
    if (!isSent && (!fits || key === undefined || this.#keys.has(key))) {
      this.#isOver = true;
      return;
    }
    if (key !== undefined) this.#keys.add(key);
    this.sent += text;
    this.#unsent = ",";
  }

  /** The text of the open string. An escape that JSON does not know is left to the repair of the whole. */
  #stream(more: string): string {
    const text = this.#unsent + more;
    safe.lastIndex = 0;
    const sent = safe.exec(text)?.[0] ?? "";
    this.sent += sent.replaceAll(/\p{Cc}/gu, (char) => JSON.stringify(char).slice(1, -1));
    const rest = text.slice(sent.length);
    this.#unsent = "";
    if (half.test(rest)) this.#unsent = rest;
    else if (rest.startsWith('"')) {
      this.#unsent = '"';
      this.#isStreaming = false;
      this.#inString = false;
      return rest.slice(1);
    } else this.#isOver = true;
    return "";
  }
}
