import { isObject, numberOf, writeJson } from "../../../base/json.ts";
import type { ShownTool } from "../names.ts";
import { equalJson, memberAt, onlyText, parsedJson } from "./json.ts";
import type { Misfit, SchemaCheck } from "./schema-check.ts";

/** `text`: the arguments as the client gets them. `misses`: the finer rules that they break. */
export type CheckedArguments =
  | { readonly ok: true; readonly text: string; readonly misses?: string | undefined }
  | { readonly ok: false; readonly message: string };

/**
 * Checks a call's arguments and repairs them if possible. Strict JSON that needs no repair stays as the model wrote it: `raw`, the text
 * that the value was read from, where it is known.
 */
export function checkArguments(tool: ShownTool, value: unknown, raw?: string): CheckedArguments {
  if (tool.tool.kind === "freeform") return freeformText(value);
  const { fitted, misfits } = repaired(unwrapped(tool, value), tool.check());
  if (!isObject(fitted)) return { ok: false, message: "the arguments must be an object" };
  const told = misfits.slice(0, 5).map(({ text }) => text);
  if (!misfits.every(({ isFine }) => isFine)) return { ok: false, message: told.join("; ") };
  const misses = told.length === 0 ? undefined : told.join("; ");
  if (tool.wrappedIn !== undefined) return { ok: true, text: writeJson(fitted[tool.wrappedIn]), misses };
  const isAsWritten = raw !== undefined && equalJson(parsedJson(raw), value) && equalJson(fitted, value);
  return { ok: true, text: isAsWritten ? raw : writeJson(fitted), misses };
}

/** A freeform tool's text, also from an object that contains only that text. */
function freeformText(value: unknown): CheckedArguments {
  if (typeof value === "string") return { ok: true, text: value };
  const text = onlyText(value);
  if (text !== undefined) return { ok: true, text };
  return { ok: false, message: "this tool takes plain text between the tags, no JSON" };
}

/** Names under which models put all arguments once more. */
export const wrapperNames = new Set(["value", "arguments", "args", "parameters", "params", "input"]);

/** The object inside another one that has it alone, under a name that the schema does not have, if a member of it is the schema's. */
function unwrapped({ shownParameters: { properties } }: ShownTool, value: unknown): unknown {
  if (!isObject(value) || !isObject(properties)) return value;
  const [[name, inner] = [], ...more] = Object.entries(value);
  if (name === undefined || more.length > 0 || !wrapperNames.has(name) || Object.hasOwn(properties, name)) return value;
  return isObject(inner) && Object.keys(inner).some((key) => Object.hasOwn(properties, key)) ? inner : value;
}

const maxRounds = 20;

/**
 * Makes arguments fit their schema if that loses nothing. It repairs a number or boolean that is written as a string (and back),
 * an object or list that is written as a JSON string, one item instead of a list, null for an optional member, and a missing
 * required member whose schema has a `default`. Everything else is left for the model to correct.
 */
function repaired(value: unknown, check: SchemaCheck) {
  let fitted = typeof value === "string" ? (parsedJson(value) ?? value) : value;
  if (isNothing(fitted)) fitted = {};
  let misfits = check.misfits(fitted);
  for (let round = 0; round < maxRounds && misfits.length > 0; round++) {
    const better = firstImprovement(fitted, misfits, check);
    if (better === undefined) break;
    fitted = better;
    misfits = check.misfits(fitted);
  }
  return { fitted, misfits };
}

/** The values that models write where a call takes no arguments. */
function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

function firstImprovement(value: unknown, misfits: readonly Misfit[], check: SchemaCheck): unknown {
  for (const misfit of misfits)
    for (const replacement of replacements(memberAt(value, misfit.path), misfit)) {
      const candidate = replaced(value, misfit.path, replacement);
      if (check.misfits(candidate).length < misfits.length) return candidate;
    }
  return undefined;
}

const absent = Symbol("absent");

function replacements(value: unknown, { path, expected = [], byDefault }: Misfit): readonly unknown[] {
  if (byDefault !== undefined && isObject(value)) return [{ ...value, [byDefault.key]: byDefault.value }];
  if (value === null && path.length > 0) return [...expected.flatMap((type) => conversions(value, type)), absent];
  return expected.flatMap((type) => conversions(value, type));
}

function conversions(value: unknown, type: string): readonly unknown[] {
  const json = typeof value === "string" ? parsedJson(value) : undefined;
  const text = typeof value === "string" ? value.trim() : "";
  switch (type) {
    case "array":
      if (value === null || value === undefined || Array.isArray(value)) return [];
      return Array.isArray(json) ? [json] : [[value]];
    case "string":
      return typeof value === "boolean" || isWhole(value) ? [writeJson(value)] : [];
    case "number":
    case "integer":
      return numberOf(json) !== undefined && writeJson(json) === text ? [json] : [];
    case "boolean":
      return /^(?:true|false)$/i.test(text) ? [text.toLowerCase() === "true"] : [];
    case "null":
      return text === "null" ? [null] : [];
    default:
      return type === "object" && isObject(json) ? [json] : [];
  }
}

/** Whether a number is whole and exact: one that a double cannot hold is written as its digits. */
function isWhole(value: unknown): boolean {
  return numberOf(value) !== undefined && /^-?\d+$/.test(writeJson(value));
}

function replaced(value: unknown, [step, ...rest]: readonly string[], replacement: unknown): unknown {
  if (step === undefined) return replacement;
  if (!isObject(value) && !Array.isArray(value)) return value;
  const entries = Object.entries(value)
    .map(([key, member]): [string, unknown] => [key, key === step ? replaced(member, rest, replacement) : member])
    .filter(([, member]) => member !== absent);
  return Array.isArray(value) ? entries.map(([, member]) => member) : Object.fromEntries(entries);
}
