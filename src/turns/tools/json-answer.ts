import { isObject } from "../../base/json.ts";
import type { ResponseFormat } from "../../log/request.ts";
import { ArgumentStream } from "./arguments/argument-stream.ts";
import { continueJson } from "./arguments/continue-json.ts";
import { compileSchema, type SchemaCheck } from "./arguments/schema-check.ts";
import type { EndCause } from "./forms/blocks.ts";
import { wholeJson } from "./forms/foreign-forms.ts";
import { parseLooseJson } from "./forms/loose-json.ts";

/** A schema that takes any object. */
const anyObject: SchemaCheck = {
  required: [],
  fitsSoFar: () => true,
  isFreeText: () => true,
  misfits: (value) =>
    isObject(value) ? [] : [{ path: "", text: "the answer must be a JSON object", expected: undefined, isFine: false }],
};

/**
 * An answer that must be JSON. The valid part is sent as it grows, without the fences and prose around it. The whole is
 * checked at the end.
 */
export class JsonAnswer {
  readonly #check: SchemaCheck;
  readonly #emit: (delta: string) => void;
  readonly #stream: ArgumentStream;
  /** Set for a second answer: the part of the first that readers got. */
  readonly #sentBefore: string | undefined;
  #raw = "";
  #begun = false;

  constructor(format: ResponseFormat, emit: (delta: string) => void, sentBefore?: string) {
    this.#check = format.type === "json_schema" ? compileSchema(format.schema, "the answer") : anyObject;
    this.#emit = emit;
    this.#stream = new ArgumentStream(this.#check, true);
    this.#sentBefore = sentBefore;
  }

  /** The text that readers received so far. */
  get sent(): string {
    return this.#sentBefore ?? this.#stream.sent;
  }

  push(text: string): void {
    this.#raw += text;
    if (this.#sentBefore !== undefined) return;
    let fresh = text;
    if (!this.#begun) {
      const start = /^\s*(?:```[\w-]*\s*)?(?=\{)/.exec(this.#raw)?.[0].length;
      if (start === undefined) return;
      this.#begun = true;
      fresh = this.#raw.slice(start);
    }
    const { send } = this.#stream.push(fresh);
    if (send !== "") this.#emit(send);
  }

  /** Sends the rest and returns the problem of the whole, if there is one. An answer cut at its length limit may be invalid. */
  end(end: EndCause): string | undefined {
    const candidates = jsonIn(this.#raw);
    const valid = candidates.find(({ value }) => this.#check.misfits(value).length === 0);
    if (valid === undefined) {
      if (end === "length") this.#sendAsIs();
      if (end === "length") return undefined;
      const [first] = candidates;
      if (first === undefined) return `it is not JSON: ${JSON.stringify(this.#raw.trim().slice(0, 80))}`;
      return this.#check
        .misfits(first.value)
        .slice(0, 5)
        .map(({ text }) => text)
        .join("; ");
    }
    const asWritten = valid.strict && valid.text.startsWith(this.sent) ? valid.text.slice(this.sent.length) : undefined;
    const rest =
      asWritten ??
      (isObject(valid.value)
        ? continueJson(this.sent, valid.value)
        : this.sent === ""
          ? JSON.stringify(valid.value)
          : undefined);
    if (rest === undefined) return "it differs from the part that was already sent; repeat that part as it was";
    if (rest !== "") this.#emit(rest);
    return undefined;
  }

  /** Everything as plain text: the answer turned out to be calls, or was cut off. */
  sendAsPlainText(): void {
    this.#sendAsIs();
  }

  #sendAsIs(): void {
    const start = this.#begun ? this.#raw.indexOf("{") : 0;
    const text = this.#raw.slice(start);
    if (text.startsWith(this.sent) && text.length > this.sent.length) this.#emit(text.slice(this.sent.length));
  }
}

interface Candidate {
  readonly value: unknown;
  readonly text: string;
  readonly strict: boolean;
}

/** The JSON values in a text: all of it, a fenced part, or the values between prose; most complete first. */
function jsonIn(raw: string): readonly Candidate[] {
  const fenced = [...raw.matchAll(/```[\w-]*\s*\n([^]*?)\n?\s*```/g)].map((match) => (match[1] ?? "").trim());
  const whole = [raw.trim(), raw.trim().replace(/^```[\w-]*\s*|\s*```$/g, ""), ...fenced];
  const found = whole.flatMap((text): Candidate[] => {
    try {
      return [{ value: JSON.parse(text) as unknown, text, strict: true }];
    } catch {
      const value = wholeJson(text);
      return value === undefined ? [] : [{ value, text, strict: false }];
    }
  });
  if (found.length > 0) return found;
  const first = raw.search(/[[{]/);
  const loose = first === -1 ? undefined : parseLooseJson(raw, first);
  return loose === undefined
    ? []
    : [{ value: loose.value, text: raw.slice(first, loose.end), strict: loose.repairs.length === 0 }];
}
