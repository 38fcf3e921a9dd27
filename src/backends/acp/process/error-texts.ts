import { isObject, parseJson } from "../../../base/json.ts";

/** Members in which agents put what a model's API told them, and how deep. */
const tellingMembers = ["message", "details", "detail", "error", "data", "reason", "description", "cause", "body"];
const mostLevels = 5;
const mostTexts = 20;

/**
 * The texts of an error's `data`: itself, or members of it, also as JSON inside a text. `marks` gets the codes beside them.
 * Source: docs/dev/wire/acp.md, "Errors".
 */
export function textsIn(data: unknown, marks: string[], level: number): readonly string[] {
  if (level > mostLevels || marks.length > mostTexts) return [];
  if (typeof data === "string") {
    const inner = /^\s*[{[]/.test(data) && data.length < 65_536 ? parsedOrNone(data) : undefined;
    const found = inner === undefined ? [] : textsIn(inner, marks, level + 1);
    return found.length > 0 ? found : [data];
  }
  if (Array.isArray(data)) return data.slice(0, mostTexts).flatMap((one) => textsIn(one, marks, level + 1));
  if (!isObject(data)) return [];
  for (const mark of [data["status"], data["code"], data["type"]])
    if (typeof mark === "string" || typeof mark === "number") marks.push(String(mark));
  return tellingMembers.flatMap((name) => textsIn(data[name], marks, level + 1)).slice(0, mostTexts);
}

function parsedOrNone(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
