/** A JSON object whose members are not checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Any value as JSON has it. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A number that a double cannot hold, as its text. `writeJson` writes that text; it is an object to everything else. */
interface ExactNumber {
  readonly rawJSON: string;
}

/** `JSON` with the parts of "JSON.parse source text access", which Node has since 21 and Bun since 1.3; TypeScript's library lacks them. */
const exact = JSON as unknown as {
  readonly rawJSON?: (text: string) => ExactNumber;
  readonly isRawJSON?: (value: unknown) => boolean;
};

/** Where a number stands that a double may not hold: 16 characters or more, or with an exponent. Text in a string may look the same. */
const mayBeInexact = /(?:^|[[:,\s])-?(?:\d[\d.]{15}|\d[\d.]*[eE])/;

/**
 * The value of a JSON text. A number that a double cannot hold (an id of 64 bits, `1e400`) keeps its text: `writeJson` writes it as it
 * came, and `numberOf` gives the nearest double. Throws `SyntaxError`.
 *
 */
export function parseJson(text: string): unknown {
  if (exact.rawJSON === undefined || !mayBeInexact.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value !== "number" || context?.source === undefined) return value;
    return decimal(String(value)) === decimal(context.source) ? value : exact.rawJSON?.(context.source);
  });
}

/** No double has a longer one, and `BigInt` reads a long text slowly. */
const longestExponent = 8;

/** A decimal number in one fixed form: its digits without zeros at either end, and the exponent. */
function decimal(text: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text) ?? [];
  if (exponent.length > longestExponent) return text;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const kept = digits.length - zerosAtEnd(digits);
  if (kept === 0) return whole === "" ? text : "0"; // `Infinity` is no decimal number
  const shift = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - kept);
  return `${sign}${digits.slice(0, kept)}e${shift}`;
}

function zerosAtEnd(digits: string): number {
  let zeros = 0;
  while (zeros < digits.length && digits[digits.length - 1 - zeros] === "0") zeros++;
  return zeros;
}

/** Ends of a line for Python's `str.splitlines` and Node's `readline`, which JSON lets stand as they are in a text. */
const lineEnds = /[\u0085\u2028\u2029]/g;

/**
 * A value as JSON in one line for every reader: the only form in which the product writes JSON to a client, an agent, a process of its
 * own or a file. `indent`: as for `JSON.stringify`, for a file that a person reads. `value` is no function and not undefined.
 */
export function writeJson(value: unknown, indent?: number): string {
  return writeLineEnds(JSON.stringify(value, undefined, indent));
}

function writeLineEnds(json: string): string {
  return json.replace(lineEnds, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** From so many characters on a text stands apart from its JSON: `JSON.stringify` and `JSON.parse` take 10 ns for each. */
const longText = 1 << 16;

/** As `writeJson`, with the long texts apart: first the JSON with marks in their place, then they. `mark` begins none of its texts. */
export function writeJsonApart(value: unknown, mark: string): readonly [string, ...string[]] {
  const texts: string[] = [];
  const marked = JSON.stringify(value, (_key, member: unknown) => {
    const isApart = typeof member === "string" && member.length >= longText && member.isWellFormed(); // else UTF-8 loses a part
    return isApart ? `${mark}${texts.push(member) - 1}` : member;
  });
  return [writeLineEnds(marked), ...texts];
}

/** A value of JSON with the texts that stood apart in the place of their marks. The value itself changes. */
export function withTexts(value: unknown, mark: string, texts: readonly string[]): unknown {
  if (typeof value === "string") return value.startsWith(mark) ? texts[Number(value.slice(mark.length))] : value;
  if (typeof value !== "object" || value === null) return value;
  const members = value as Record<string, unknown>; // of JSON that was just parsed
  for (const [name, member] of Object.entries(members)) {
    const whole = withTexts(member, mark, texts);
    if (whole !== member) members[name] = whole;
  }
  return value;
}

/** The number, or the double nearest to one that `parseJson` kept as its text; undefined for another value. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return isExact(value) ? Number(value.rawJSON) : undefined;
}

function isExact(value: unknown): value is ExactNumber {
  return exact.isRawJSON?.(value) === true;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isExact(value);
}

/** The value where it is an object, else an empty one. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
