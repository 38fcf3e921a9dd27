import { isObject, type JsonObject as Schema } from "../../src/base/json.ts";

/** Plausible values for arguments by their names; harmless if a client really runs them. */
const byName: readonly (readonly [name: RegExp, value: (text: string) => string])[] = [
  [/^(command|cmd|script|line)$/i, (text) => `echo ${text}`],
  [/(file|path|name)$/i, () => "README.md"],
  [/(dir|directory|folder|cwd|workdir)$/i, () => "."],
  [/(pattern|glob|regex|query)$/i, () => "millrace"],
  [/(url|uri)$/i, () => "http://127.0.0.1/"],
];

/**
 * A value that fits a JSON Schema: required members only, constants and defaults if they are given. `text` is used for strings that
 * have no other value. Covers the schemas of tools and answer formats, not every possible schema.
 */
export function instanceOf(schema: Schema, text: string): unknown {
  return instance(schema, { root: schema, text, depth: 0 }, "");
}

interface Context {
  readonly root: Schema;
  readonly text: string;
  readonly depth: number;
}

function instance(schema: unknown, context: Context, name: string): unknown {
  if (!isObject(schema) || context.depth > 12) return context.text;
  const deeper = { ...context, depth: context.depth + 1 };
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"])) return schema["enum"][0] as unknown;
  if ("default" in schema) return schema["default"];
  if (typeof schema["$ref"] === "string") return instance(resolve(schema["$ref"], context.root), deeper, name);
  for (const key of ["anyOf", "oneOf"]) {
    const branches = schema[key];
    if (Array.isArray(branches))
      return instance({ ...schema, [key]: undefined, ...(branches[0] as Schema) }, deeper, name);
  }
  const all = schema["allOf"];
  if (Array.isArray(all))
    return instance(Object.assign({ ...schema, allOf: undefined }, ...(all as Schema[])), deeper, name);
  return ofType(schema, deeper, name);
}

function ofType(schema: Schema, context: Context, name: string): unknown {
  const declared: unknown = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  switch (declared ?? (isObject(schema["properties"]) ? "object" : "string")) {
    case "object":
      return objectOf(schema, context);
    case "array": {
      const least = typeof schema["minItems"] === "number" ? schema["minItems"] : 1;
      if (/^(command|cmd|argv)$/i.test(name)) return ["echo", context.text];
      return Array.from({ length: least }, () => instance(schema["items"] ?? {}, context, name));
    }
    case "integer":
    case "number":
      return numberOf(schema);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return stringOf(schema, context, name);
  }
}

function objectOf(schema: Schema, context: Context): Record<string, unknown> {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? (schema["required"] as string[]) : []; // names, by JSON Schema
  return Object.fromEntries(required.map((key) => [key, instance(properties[key] ?? {}, context, key)]));
}

function numberOf(schema: Schema): number {
  if (typeof schema["minimum"] === "number") return schema["minimum"];
  if (typeof schema["exclusiveMinimum"] === "number") return schema["exclusiveMinimum"] + 1;
  return typeof schema["maximum"] === "number" ? Math.min(1, schema["maximum"]) : 1;
}

function stringOf(schema: Schema, context: Context, name: string): string {
  const formats: Readonly<Record<string, string>> = {
    date: "2026-01-31",
    "date-time": "2026-01-31T10:00:00Z",
    email: "miller@example.com",
    uri: "http://127.0.0.1/",
    uuid: "00000000-0000-4000-8000-000000000000",
  };
  const format = formats[String(schema["format"])];
  const value = format ?? byName.find(([pattern]) => pattern.test(name))?.[1](context.text) ?? context.text;
  const most = typeof schema["maxLength"] === "number" ? schema["maxLength"] : Infinity;
  const least = typeof schema["minLength"] === "number" ? schema["minLength"] : 0;
  return value.slice(0, most).padEnd(least, "x");
}

function resolve(reference: string, root: Schema): unknown {
  let at: unknown = root;
  for (const part of reference
    .replace(/^#\/?/, "")
    .split("/")
    .filter((piece) => piece !== "")) {
    at = isObject(at) ? at[part.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
  }
  return at;
}
