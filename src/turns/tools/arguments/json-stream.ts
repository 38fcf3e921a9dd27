import { isObject, writeJson } from "../../../base/json.ts";
import { parsedJson } from "./json.ts";
import type { SchemaCheck } from "./schema-check.ts";

/** What may be sent of an open string: no half of an escape or of a surrogate pair. */
const safe = /^(?:[^"\\\ud800-\udbff]|[\ud800-\udbff][\udc00-\udfff]|\\(?:["\\/bfnrt]|u[\da-f]{4}))*/i;
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
  /** What was not sent yet: of a member, from the bracket or comma before it. */
  #unsent = "";
  /** In a string that is sent as it grows. */
  #isStreaming = false;
  /** Nothing more is sent: the object is over, or no strict JSON that fits. */
  #isOver = false;

  constructor(check: SchemaCheck) {
    this.#check = check;
  }

  /** The text that may be sent now. */
  push(text: string): string {
    const before = this.sent.length;
    for (let at = 0; at < text.length && !this.#isOver; at++) this.#next(text.charAt(at));
    if (this.#isStreaming && !this.#isOver) this.#sendText();
    return this.sent.slice(before);
  }

  #next(char: string): void {
    const isEscaped = this.#isEscaped;
    this.#isEscaped = this.#inString && char === "\\" && !isEscaped;
    if (char === "," && this.#depth === 1 && !this.#inString) this.#endMember();
    this.#unsent += char;
    if (char === '"' && !isEscaped) {
      this.#inString = !this.#inString;
      if (this.#isStreaming) this.#sendText();
      else if (this.#depth === 1 && this.#inString) this.#beginText();
    }
    if (this.#inString) return;
    if (char === "{" || char === "[") this.#depth++;
    if (char === "}" || char === "]") this.#isOver ||= --this.#depth === 0;
  }

  /** Sends the start of a member whose text is sent as it grows, if its string just began. */
  #beginText(): void {
    const [key] = Object.keys(parsedJson(`{${this.#unsent.slice(1)}"}`) ?? {});
    if (key === undefined || this.#keys.has(key) || !this.#check.isFreeText(key)) return;
    this.#keys.add(key);
    this.sent += this.#unsent;
    this.#unsent = "";
    this.#isStreaming = true;
  }

  /** Sends more of a text; its end goes with the comma after it. An escape that JSON does not know is left to the repair of the whole. */
  #sendText(): void {
    const [text = ""] = safe.exec(this.#unsent) ?? [];
    this.sent += text.replaceAll(/\p{Cc}/gu, (char) => writeJson(char).slice(1, -1));
    this.#unsent = this.#unsent.slice(text.length);
    this.#isStreaming = half.test(this.#unsent);
    this.#isOver = !this.#isStreaming && this.#unsent !== '"';
  }

  /** Sends a whole member, if it fits. */
  #endMember(): void {
    const isTextEnd = this.#unsent.trim() === '"';
    const member = isTextEnd ? {} : parsedJson(`{${this.#unsent.slice(1)}}`);
    const keys = isObject(member) ? Object.keys(member) : [];
    const isOne = isTextEnd || (keys.length === 1 && !keys.some((key) => this.#keys.has(key)));
    this.#isOver = !isOne || !isObject(member) || !this.#check.fitsSoFar(member);
    if (this.#isOver) return;
    for (const key of keys) this.#keys.add(key);
    this.sent += this.#unsent;
    this.#unsent = "";
  }
}
