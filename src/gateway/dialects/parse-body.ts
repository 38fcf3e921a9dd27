import type { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";

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
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const { path, message } = deepest(result.error.issues, []);
  const param = writePath(path);
  throw refuse(param, message, param === "model" ? "`GET /v1/models` lists the account's models." : undefined);
}

/** Parses one part of a body with its own schema, as `parseBody` does; `path` is the part's place in the body. */
export function parseAt<T>(schema: z.ZodType<T>, value: unknown, path: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const inner = deepest(result.error.issues, []);
  const within = writePath(inner.path);
  throw refuse(within === "" || within.startsWith("[") ? `${path}${within}` : `${path}.${within}`, inner.message);
}

/** The one form of "this field is wrong": names it in the text and as `param`. */
export function refuse(param: string, why: string, hint?: string): MillraceError {
  const sentence = /[.!?)]$/.test(why) ? why : `${why}.`; // a schema's own words have no stop; a hint follows
  const message = param === "" ? sentence : `${param}: ${sentence}`;
  return new MillraceError("invalid_request", message, {
    ...(param === "" ? {} : { param }),
    ...(hint === undefined ? {} : { hint }),
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
