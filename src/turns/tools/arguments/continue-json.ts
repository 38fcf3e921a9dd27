import { isObject, type JsonObject, writeJson } from "../../../base/json.ts";
import { equalJson, parsedJson } from "./json.ts";

/**
 * The text that continues `sent` so that both together are JSON of `value`. `sent` is "" or the beginning of an object. It stops
 * inside a top-level string (never inside an escape) or after a whole member. Undefined when no continuation gives `value`.
 */
export function continueJson(sent: string, value: JsonObject): string | undefined {
  if (sent === "") return writeJson(value);
  const whole = parsedJson(`${sent}}`);
  const begun = whole ?? parsedJson(`${sent}"}`);
  if (!isObject(begun)) return undefined;
  const keys = Object.keys(begun);
  const open = keys.at(-1) ?? "";
  const half = whole === undefined ? String(begun[open]) : undefined;
  const end = half === undefined ? "" : writeJson(String(value[open]).slice(half.length)).slice(1);
  const others = Object.entries(value).filter(([key]) => !keys.includes(key));
  const written = others.map(([key, member]) => `${writeJson(key)}:${writeJson(member)}`);
  const rest = `${end}${keys.length > 0 && written.length > 0 ? "," : ""}${written.join(",")}}`;
  return equalJson(parsedJson(sent + rest), value) ? rest : undefined;
}
