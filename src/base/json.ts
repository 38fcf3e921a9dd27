/** A JSON object whose members are not checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Any value as JSON has it. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
