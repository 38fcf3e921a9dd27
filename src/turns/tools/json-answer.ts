import { isObject, writeJson } from "../../base/json.ts";
import type { ResponseFormat } from "../../log/request.ts";
import { continueJson } from "./arguments/continue-json.ts";
import { parsedJson } from "./arguments/json.ts";
import { JsonStream } from "./arguments/json-stream.ts";
import { compileSchema, type SchemaCheck } from "./arguments/schema-check.ts";
import { parseLooseJson } from "./forms/loose-json.ts";

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
  /** Where the object begins. */
  #start: number | undefined;

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
    const before = this.#raw.length;
    this.#raw += text;
    if (this.#sentBefore !== undefined || (this.#start === undefined && before > maxLead)) return;
    const isBegun = this.#start !== undefined;
    this.#start ??= /^\s*(?:```[\w-]*\s*)?(?=\{)/.exec(this.#raw)?.[0].length;
    if (this.#start !== undefined) this.#send(this.#stream.push(isBegun ? text : this.#raw.slice(this.#start)));
  }

  #send(text: string): void {
    if (text !== "") this.#emit(text);
  }

  /** Sends the rest and returns the problem of the whole, if there is one. An answer cut at its length limit may be invalid. */
  end(end: "stop" | "length"): string | undefined {
    const { sent } = this;
    const found = jsonIn(this.#raw);
    const misfits = found.map(({ value }) => this.#check.misfits(value));
    const valid = found[misfits.findIndex((each) => each.length === 0)];
    if (valid !== undefined) {
      const { text, value } = valid;
      const isAsWritten = text.startsWith(sent) && parsedJson(text) !== undefined;
      const whole = sent === "" ? writeJson(value) : undefined;
      const rest = isAsWritten ? text.slice(sent.length) : isObject(value) ? continueJson(sent, value) : whole;
      if (rest === undefined) return "it differs from the part that was already sent; repeat that part as it was";
      this.#send(rest);
    } else if (end === "length") this.sendAsIs();
    else {
      const [told] = misfits.map((each) => each.slice(0, 5).map(({ text }) => text));
      return told?.join("; ") ?? `it is not JSON: ${writeJson(this.#raw.trim().slice(0, 80))}`;
    }
    return undefined;
  }

  /** Everything as plain text: the answer turned out to be calls, or was cut off. */
  sendAsIs(): void {
    const text = this.#raw.slice(this.#start ?? 0);
    if (text.startsWith(this.sent)) this.#send(text.slice(this.sent.length));
  }
}

/** A fence and its content; the last one may be open. */
const fenced = /^[^\S\n]*```[^\n]*\n([^]*?)(?:^[^\S\n]*`{3,}[^\S\n]*$|$(?![^]))/gm;

/** The JSON values in a text: all of it, a fenced part, or what follows prose; most complete first. */
function jsonIn(raw: string): readonly { readonly value: unknown; readonly text: string }[] {
  const parts = [raw, ...[...raw.matchAll(fenced)].map(([, body = ""]) => body)].map((part) => part.trim());
  const strict = parts.flatMap((text) => {
    const value = parsedJson(text);
    return value === undefined ? [] : [{ value, text }];
  });
  const loose = parts.toReversed().flatMap((part) => {
    const text = part.slice(Math.max(0, part.search(/[[{]/)));
    const read = /^[[{]/.test(text) ? parseLooseJson(text, 0, true) : undefined;
    return read === undefined ? [] : [{ value: read.value, text: text.slice(0, read.end) }];
  });
  return [...strict, ...loose];
}
