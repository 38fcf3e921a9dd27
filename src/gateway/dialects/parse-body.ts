import type { z } from "zod";
import { parseEffort } from "../../base/effort.ts";
import { MillraceError } from "../../base/errors.ts";
import { isObject, numberOf, writeJson } from "../../base/json.ts";
import type { Message, Part, ReasoningEffort } from "../../log/request.ts";
import { bounds } from "./bounds.ts";

type Path = readonly PropertyKey[];

/**
 * A body checked against a schema: unknown keys pass, known keys of the wrong type are refused with their path.
 *
 * @throws MillraceError `invalid_request` with `param` as the caller would write it (`messages[2].content`).
 */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  if (!isObject(body)) {
    throw new MillraceError("invalid_request", "The body must be a JSON object.");
  }
  const result = checked(schema, body);
  if (result.success) return result.data;
  const { path, message } = deepest(result.error.issues, []);
  const param = writePath(path);
  throw refuse(
    param,
    message,
    param === "model" ? "`GET /v1/models` lists the account's models." : otherApi(body, param),
  );
}

/** The hint for a body that lacks its messages, and has another API's in their place. */
export function otherApi(body: object, param: string): string | undefined {
  if (param === "input" && "messages" in body) return "A body with `messages` goes to `POST /v1/chat/completions`.";
  if (param !== "messages" || "messages" in body) return undefined;
  if ("input" in body) return "A body with `input` goes to `POST /v1/responses`.";
  return "prompt" in body ? "A body with `prompt` goes to `POST /v1/completions`." : undefined;
}

/** Parses one part of a body with its own schema, as `parseBody` does; `path` is the part's place in the body. */
export function parseAt<T>(schema: z.ZodType<T>, value: unknown, path: string): T {
  const result = checked(schema, value);
  if (result.success) return result.data;
  const inner = deepest(result.error.issues, []);
  const within = writePath(inner.path);
  throw refuse(within === "" || within.startsWith("[") ? `${path}${within}` : `${path}.${within}`, inner.message);
}

/**
 * What the schema says of a value. Where it wants a number, one that kept its text, or that no double holds exactly, counts as the nearest
 * that it takes: programs write the largest number of 64 bits for "no limit".
 */
function checked<T>(schema: z.ZodType<T>, value: unknown): z.ZodSafeParseResult<T> {
  const result = schema.safeParse(value);
  const paths = (result.error?.issues ?? []).flatMap(({ path }) =>
    Math.abs(numberAt(value, path)) > Number.MAX_SAFE_INTEGER ? [path] : [],
  );
  if (paths.length === 0) return result;
  return schema.safeParse(paths.reduce((now, path) => withNumber(now, path), value));
}

function numberAt(value: unknown, path: Path): number {
  return numberOf(path.reduce((at, step) => (isObject(at) ? at[String(step)] : undefined), value)) ?? 0;
}

/** The object with the number at this path within the limits of a double's whole numbers. */
function withNumber(value: unknown, [step, ...rest]: Path): unknown {
  if (step === undefined) return Math.sign(numberOf(value) ?? 0) * Number.MAX_SAFE_INTEGER;
  const name = String(step);
  return isObject(value) ? { ...value, [name]: withNumber(value[name], rest) } : value;
}

/** What a body without a model's name is told; `list` is the route that has them. */
export function nameAModel(list = "/v1/models"): string {
  return `Name a model; GET ${list} lists them.`;
}

/** The one form of "this field is wrong": names it in the text and as `param`. */
export function refuse(
  param: string,
  why: string,
  hint?: string,
  details?: Readonly<Record<string, unknown>>,
): MillraceError {
  const sentence = /[.!?)]$/.test(why) ? why : `${why}.`; // a schema's own words have no stop; a hint follows
  const message = param === "" ? sentence : `${param}: ${sentence}`;
  return new MillraceError("invalid_request", message, {
    ...(param === "" ? {} : { param }),
    ...(hint === undefined ? {} : { hint }),
    ...(details === undefined ? {} : { details }),
  });
}

/** `["messages", 2, "content"]` as `messages[2].content`. */
export function writePath(path: Path): string {
  let text = "";
  for (const step of path)
    text += typeof step === "number" ? `[${step}]` : text === "" ? String(step) : `.${String(step)}`;
  return text;
}

/** The issue deepest inside the body: in a union, the client probably meant the branch that matched furthest. */
function deepest(issues: readonly z.core.$ZodIssue[], base: Path): { readonly path: Path; readonly message: string } {
  let best: { path: Path; message: string } = { path: base, message: "Invalid value." };
  let first = true;
  for (const issue of issues) {
    const path = [...base, ...issue.path];
    const branches = issue.code === "invalid_union" ? issue.errors.map((errors) => deepest(errors, path)) : [];
    const inner = branches.reduce((a, b) => (b.path.length > a.path.length ? b : a), { path, message: "" });
    const candidate = inner.path.length > path.length ? inner : { path, message: describe(issue) };
    if (first || candidate.path.length > best.path.length) best = candidate;
    first = false;
  }
  return best;
}

function describe(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_type" && issue.message.endsWith("received undefined"))
    return `It is missing. It must be of type ${issue.expected}.`;
  if (issue.code !== "invalid_union") return issue.message;
  if (issue.discriminator !== undefined && issue.errors.length === 0)
    return `This ${issue.discriminator} is not known.`;
  const expected = new Set<string>();
  for (const branch of issue.errors) {
    for (const inner of branch)
      if (inner.code === "invalid_type" && inner.path.length === 0) expected.add(inner.expected);
  }
  return expected.size > 0 ? `Invalid input: expected ${[...expected].join(" or ")}` : issue.message;
}

/** The most tokens of an answer, as a request has them; absent where it names no limit (in Ollama: a negative one). */
export function outputLimit(given: number | null | undefined): { readonly maxOutputTokens?: number } {
  if (typeof given !== "number" || given < 0) return {};
  return { maxOutputTokens: Math.min(bounds.outputTokens, Math.floor(given)) };
}

/**
 * The stop sequences of a request, each once; empty ones mean nothing. `most`: how many its API takes.
 *
 * @throws MillraceError `invalid_request` for too many, or for one that is too long.
 */
export function stopSequences(
  given: string | readonly string[] | null | undefined,
  param: string,
  most: number = bounds.stop.sequences.others,
): readonly string[] {
  const texts = new Set((typeof given === "string" ? [given] : (given ?? [])).filter((text) => text !== ""));
  if (texts.size > most)
    throw refuse(param, `At most ${most} stop sequences are supported, and these are ${texts.size}.`);
  const { characters } = bounds.stop;
  const long = [...texts].find((text) => text.length > characters);
  if (long === undefined) return [...texts];
  const many = `${long.length.toLocaleString("en")} characters`;
  throw refuse(
    param,
    `A stop sequence has at most ${characters.toLocaleString("en")} characters, and this one has ${many}.`,
  );
}

/** The effort of this name. One that is not known (a newer one, `default`) leaves the effort to the model. */
export function effortNamed(name: unknown): ReasoningEffort | undefined {
  return typeof name === "string" ? parseEffort(name) : undefined;
}

/** The effort that a body names in the words of any API, else the one that matches its thinking budget; a body without one leaves it to the model. */
export function effortIn(body: unknown): ReasoningEffort | undefined {
  if (!isObject(body)) return undefined;
  const { reasoning_effort: flat, reasoning, output_config: config, thinking } = body;
  const names = [flat, ...[reasoning, config].map((holder) => (isObject(holder) ? holder["effort"] : undefined))];
  const named = names.map(effortNamed).find((effort) => effort !== undefined);
  if (named !== undefined || !isObject(thinking) || thinking["type"] !== "enabled") return named;
  const budget = numberOf(thinking["budget_tokens"]);
  return budget === undefined ? undefined : effortForBudget(budget);
}

/** The effort that matches so many tokens of thinking. */
export function effortForBudget(tokens: number): ReasoningEffort {
  if (tokens <= 4_096) return "low";
  return tokens <= 16_384 ? "medium" : "high";
}

/**
 * What the model is told of the hosted tools that a request has, by type: only their vendor could run them, so they are left out. A
 * request with other tools needs no word of it, unless it demands a hosted one. Source: docs/dev/wire/clients.md, "Hosted tools".
 */
export function noteOfHosted(hosted: readonly string[], isNeeded: boolean): Message[] {
  if (hosted.length === 0 || !isNeeded) return [];
  const names = hosted.map((type) => type.slice(0, 60)).join(", ");
  return [
    { role: "system", parts: textParts([`These tools are not available here, so answer without them: ${names}.`]) },
  ];
}

/** Texts as parts; empty ones are no part. */
export function textParts(texts: readonly string[]): Part[] {
  return texts.filter((text) => text !== "").map((text) => ({ type: "text", text }));
}

/** What a tool gave: a text, or parts of a message. Any other value, which some clients send as it is, as its JSON. */
export function resultContent(given: unknown): string | readonly unknown[] {
  if (given === null || given === undefined) return "";
  if (typeof given === "string") return given;
  const isContent =
    Array.isArray(given) && (given.length === 0 || given.some((part) => isObject(part) && "type" in part));
  return isContent ? given : writeJson(given);
}
