import { isObject, parseJson } from "../../../base/json.ts";

/** Whether two JSON values are the same; the order of keys does not matter. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true; // -0 and 0 are one number of JSON
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [Object.entries(a), Object.entries(b)];
  if (left.length !== right.length) return false;
  const other = new Map<string, unknown>(right);
  return left.every(([key, value]) => other.has(key) && equalJson(value, other.get(key)));
}

/** The value of strict JSON; undefined for any other text. */
export function parsedJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined; // loose JSON, or none
  }
}

/** The text that an object holds and nothing else: the input of a freeform tool, written as JSON. */
export function onlyText(value: unknown): string | undefined {
  const [only, ...more] = isObject(value) ? Object.values(value) : [];
  return more.length === 0 && typeof only === "string" ? only : undefined;
}

/** The member that keys and indexes lead to; undefined where one is missing. */
export function memberAt(root: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, step) => {
    const isOwn = (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, step);
    return isOwn ? (value as Record<string, unknown>)[step] : undefined; // lists are objects too
  }, root);
}
