import { isObject } from "../../base/json.ts";
import type { ResponseFormat } from "../../log/request.ts";
import { continueJson } from "./arguments/continue-json.ts";
import { parsedJson } from "./arguments/json.ts";
import { JsonStream } from "./arguments/json-stream.ts";
import { compileSchema, type SchemaCheck } from "./arguments/schema-check.ts";
import { closesFence, type EndCause } from "./forms/blocks.ts";
import { parseLooseJson } from "./forms/loose-json.ts";
import { wholeJson } from "./forms/read-calls.ts";

/** A schema that takes any object. */
const anyObject: SchemaCheck = {
  fitsSoFar: () => true,
  isFreeText: () => true,
  misfits: (value) =>
    isObject(value) ? [] : [{ path: "", text: "the answer must be a JSON object", expected: undefined, isFine: false }],
};

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
    this.#check = format.type === "json_schema" ? compileSchema(format.schema, "the answer") : anyObject;
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

/** The JSON values in a text: all of it, a fenced part, or the values between prose; most complete first. */
function jsonIn(raw: string): readonly Candidate[] {
  const found = [raw.trim(), ...fencedParts(raw)].flatMap((text): Candidate[] => {
    const exact = parsedJson(text);
    const value = exact === undefined ? wholeJson(text) : exact;
    return value === undefined ? [] : [{ value, text, strict: exact !== undefined }];
  });
  if (found.length > 0) return found;
  const first = raw.search(/[[{]/);
  const loose = first === -1 ? undefined : parseLooseJson(raw, first);
  if (loose === undefined) return [];
  const text = raw.slice(first, loose.end);
  return [{ value: loose.value, text, strict: parsedJson(text) !== undefined }];
}

/** The contents of the fences in a text; the last one may be open. */
function fencedParts(raw: string): readonly string[] {
  const parts: string[] = [];
  let lines: string[] | undefined;
  for (const line of raw.split("\n")) {
    if (lines === undefined) lines = line.trimStart().startsWith("```") ? [] : undefined;
    else if (closesFence(line, "```")) {
      parts.push(lines.join("\n").trim());
      lines = undefined;
    } else lines.push(line);
  }
  return lines === undefined ? parts : [...parts, lines.join("\n").trim()];
}
