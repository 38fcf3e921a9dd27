import { isObject } from "../../../base/json.ts";
import { equalJson } from "./equal-json.ts";
import type { Misfit, SchemaCheck } from "./schema-check.ts";

type Arguments = Readonly<Record<string, unknown>>;

/**
 * Arguments after loss-free repair, or their remaining problem. `value` is present if they break only finer rules of the schema; the
 * client can then decide.
 */
export type Repaired =
  | { readonly ok: true; readonly value: Arguments; readonly changed: boolean }
  | { readonly ok: false; readonly misfits: readonly Misfit[]; readonly value?: Arguments; readonly changed: boolean };

const maxRounds = 20;

/**
 * Makes arguments fit their schema if that loses nothing. It repairs a number or boolean that is written as a string (and back),
 * an object or list that is written as a JSON string, one item instead of a list, null for an optional member, and a missing
 * required member whose schema has a `default`. Everything else is left for the model to correct.
 */
export function repairArguments(value: unknown, check: SchemaCheck): Repaired {
  let current: unknown = isNothing(value) ? {} : value;
  let misfits = check.misfits(current);
  for (let round = 0; round < maxRounds && misfits.length > 0; round++) {
    const better = firstImprovement(current, misfits, check);
    if (better === undefined) break;
    current = better;
    misfits = check.misfits(current);
  }
  if (!isObject(current))
    return {
      ok: false,
      misfits: [{ path: "", text: "the arguments must be an object", expected: undefined, isFine: false }],
      changed: false,
    };
  const changed = !equalJson(current, value);
  if (misfits.length === 0) return { ok: true, value: current, changed };
  return { ok: false, misfits, changed, ...(misfits.every(({ isFine }) => isFine) && { value: current }) };
}

/** The values that models write where a call takes no arguments. */
function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

function firstImprovement(value: unknown, misfits: readonly Misfit[], check: SchemaCheck): unknown {
  for (const misfit of misfits) {
    const steps = misfit.path
      .split("/")
      .slice(1)
      .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    const { expected = [], byDefault } = misfit;
    const completed = byDefault === undefined ? [] : completedAt(value, steps, byDefault);
    for (const candidate of [...completed, ...candidatesAt(value, steps, expected)]) {
      if (check.misfits(candidate).length < misfits.length) return candidate;
    }
  }
  return undefined;
}

const absent = Symbol("absent");

function completedAt(root: unknown, steps: readonly string[], { key, value }: NonNullable<Misfit["byDefault"]>) {
  const object = valueAt(root, steps);
  return isObject(object) ? [replaced(root, steps, { ...object, [key]: value })] : [];
}

function valueAt(root: unknown, steps: readonly string[]): unknown {
  let value = root;
  for (const step of steps)
    value = isObject(value) || Array.isArray(value) ? (value as Record<string, unknown>)[step] : undefined; // lists are objects too
  return value;
}

function candidatesAt(root: unknown, steps: readonly string[], expected: readonly string[]): readonly unknown[] {
  const value = valueAt(root, steps);
  const replacements = expected.flatMap((type) => conversions(value, type));
  const removal = value === null && steps.length > 0 ? [absent] : [];
  return [...replacements, ...removal].map((replacement) => replaced(root, steps, replacement));
}

function conversions(value: unknown, type: string): readonly unknown[] {
  if (type === "array" && value !== null && value !== undefined && !Array.isArray(value)) {
    const parsed = parsedText(value);
    return Array.isArray(parsed) ? [parsed] : [[value]];
  }
  if (type === "string" && (typeof value === "boolean" || Number.isSafeInteger(value))) return [String(value)];
  if (typeof value !== "string") return [];
  const text = value.trim();
  switch (type) {
    case "number":
    case "integer":
      return text !== "" && String(Number(text)) === text ? [Number(text)] : [];
    case "boolean":
      return /^true$/i.test(text) ? [true] : /^false$/i.test(text) ? [false] : [];
    case "null":
      return text === "null" ? [null] : [];
    case "object": {
      const parsed = parsedText(value);
      return isObject(parsed) ? [parsed] : [];
    }
    default:
      return [];
  }
}

function parsedText(value: unknown): unknown {
  if (typeof value !== "string") return undefined;
  try {
    return JSON.parse(value);
  } catch {
    return undefined; // not JSON: no repair
  }
}

function replaced(value: unknown, steps: readonly string[], replacement: unknown): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return replacement;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown, index) =>
      String(index) === step ? replaced(item, rest, replacement) : item,
    );
    return items.filter((item) => item !== absent);
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(
    ([key, member]) => [key, key === step ? replaced(member, rest, replacement) : member] as const,
  );
  return Object.fromEntries(entries.filter(([, member]) => member !== absent));
}
