/** An object as JSON has it, with members that nobody checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Any value as JSON has it. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };
