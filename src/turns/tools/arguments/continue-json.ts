import { isObject, type JsonObject } from "../../../base/json.ts";
import { equalJson, parsedJson } from "./json.ts";

/**
 * The text that continues `sent` so that both together are JSON of `value`. `sent` is "" or the beginning of an object. It stops
 * inside a top-level string (never inside an escape) or after a whole member. Undefined when no continuation gives `value`.
 */
export function continueJson(sent: string, value: JsonObject): string | undefined {
  if (sent === "") return JSON.stringify(value);
  const whole = parsed(`${sent}}`);
  if (whole !== undefined) return checked(sent, membersAfter(Object.keys(whole), value), value);
  const begun = parsed(`${sent}"}`);
  const open = Object.keys(begun ?? {}).at(-1);
  if (begun === undefined || open === undefined || !Object.hasOwn(value, open)) return undefined;
  const [half, full] = [begun[open], value[open]];
  if (typeof half !== "string" || typeof full !== "string" || !full.startsWith(half)) return undefined;
  const rest = JSON.stringify(full.slice(half.length)).slice(1);
  return checked(sent, rest + membersAfter(Object.keys(begun), value), value);
}

function membersAfter(keys: readonly string[], value: JsonObject): string {
  const rest = Object.entries(value).filter(([key]) => !keys.includes(key));
  const written = rest.map(([key, member]) => `${JSON.stringify(key)}:${JSON.stringify(member)}`);
  return `${keys.length > 0 && written.length > 0 ? "," : ""}${written.join(",")}}`;
}

function checked(sent: string, rest: string, value: JsonObject): string | undefined {
  const both = parsed(sent + rest);
  return both !== undefined && equalJson(both, value) ? rest : undefined;
}

function parsed(text: string): JsonObject | undefined {
  const value = parsedJson(text);
  return isObject(value) ? value : undefined;
}
