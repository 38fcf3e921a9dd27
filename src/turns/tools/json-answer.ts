import { isObject } from "../../base/json.ts";
import type { ResponseFormat } from "../../log/request.ts";
import { continueJson } from "./arguments/continue-json.ts";
import { parsedJson } from "./arguments/json.ts";
import { JsonStream } from "./arguments/json-stream.ts";
import { compileSchema, type SchemaCheck } from "./arguments/schema-check.ts";
import { parseLooseJson } from "./forms/loose-json.ts";
import { wholeJson } from "./forms/read-calls.ts";
import type { EndCause } from "./forms/source.ts";

/** Where an object that is sent as it grows begins at the latest; one after more text is sent at the end. */
const maxLead = 200;

/**
 * An answer that must be JSON. The valid part is sent as it grows, without the fences and prose around it. The whole is
 * checked at the end.
 */
export class JsonAnswer {
  readonly #check: SchemaCheck;
  readonly #emit: (delta: string) => void;
  readonly #stream: JsonStream;
  /** Set for a second answer: the part of the first that readers got. */
  readonly #sentBefore: string | undefined;
  #raw = "";
  #begun = false;

  constructor(format: ResponseFormat, emit: (delta: string) => void, sentBefore?: string) {
    this.#check = compileSchema(format.type === "json_schema" ? format.schema : { type: "object" }, "the answer");
    this.#emit = emit;
    this.#stream = new JsonStream(this.#check);
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
      if (this.#raw.length - text.length > maxLead) return;
      const start = /^\s*(?:```[\w-]*\s*)?(?=\{)/.exec(this.#raw)?.[0].length;
      if (start === undefined) return;
      this.#begun = true;
      fresh = this.#raw.slice(start);
    }
    const send = this.#stream.push(fresh);
    if (send !== "") this.#emit(send);
  }

  /** Sends the rest and returns the problem of the whole, if there is one. An answer cut at its length limit may be invalid. */
  end(end: EndCause): string | undefined {
    const candidates = jsonIn(this.#raw);
    const valid = candidates.find(({ value }) => this.#check.misfits(value).length === 0);
    if (valid === undefined) {
      if (end === "length") {
        this.sendAsIs();
        return undefined;
      }
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
  sendAsIs(): void {
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

/** A fence and its content; the last one may be open. */
const fenced = /^[^\S\n]*```[^\n]*\n([^]*?)(?:^[^\S\n]*`{3,}[^\S\n]*$|$(?![^]))/gm;

/** The JSON values in a text: all of it, a fenced part, or the values between prose; most complete first. */
function jsonIn(raw: string): readonly Candidate[] {
  const found = [raw.trim(), ...[...raw.matchAll(fenced)].map(([, body = ""]) => body.trim())].flatMap(
    (text): Candidate[] => {
      const exact = parsedJson(text);
      const value = exact === undefined ? wholeJson(text) : exact;
      return value === undefined ? [] : [{ value, text, strict: exact !== undefined }];
    },
  );
  if (found.length > 0) return found;
  const first = raw.search(/[[{]/);
  const loose = first === -1 ? undefined : parseLooseJson(raw, first);
  if (loose === undefined) return [];
  const text = raw.slice(first, loose.end);
  return [{ value: loose.value, text, strict: parsedJson(text) !== undefined }];
}
