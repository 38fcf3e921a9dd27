import { isObject, type JsonObject, objectOf } from "../../base/json.ts";
import type { Tool } from "../../log/request.ts";

/** Types as other vendors' APIs and languages write them. JSON Schema has six names and `null`, in lower case. */
const otherNames: Readonly<Record<string, string>> = {
  str: "string",
  int: "integer",
  int32: "integer",
  int64: "integer",
  float: "number",
  double: "number",
  bool: "boolean",
  list: "array",
  tuple: "array",
  dict: "object",
  map: "object",
  struct: "object",
  record: "object",
};
const names = new Set(["string", "integer", "number", "boolean", "array", "object", "null"]);

/** Members of a schema that hold one schema, a list of them, or a map of them. */
const inner = ["items", "additionalProperties", "not", "prefixItems", "anyOf", "oneOf", "allOf", "additionalItems"];
const maps = ["properties", "patternProperties", "$defs", "definitions"];
/** Deeper schemas stay as they are. */
const mostLevels = 100;

/**
 * A tool's schema as the model and the agent get it: always of an object, with JSON Schema's names of types. A schema of another type is
 * wrapped into one. A root that has `properties` is of an object, with any name of its type (`OBJECT`, `dict`, null).
 */
export function shownSchema({ kind, parameters }: Tool): {
  readonly shownParameters: JsonObject;
  readonly wrappedIn: string | undefined;
} {
  if (kind === "freeform") return { shownParameters: parameters, wrappedIn: undefined };
  const known = objectOf(withKnownTypes(parameters, 0));
  const { type, ...rules } = known;
  if (type === undefined || type === "object" || (Array.isArray(type) && type.includes("object")))
    return { shownParameters: known, wrappedIn: undefined };
  if (isObject(known["properties"]) && (type === "null" || typeof type !== "string" || !names.has(type)))
    return { shownParameters: { type: "object", ...rules }, wrappedIn: undefined };
  return {
    shownParameters: {
      type: "object",
      properties: { value: known },
      required: ["value"],
      additionalProperties: false,
    },
    wrappedIn: "value",
  };
}

/** The same schema with every type by its name in JSON Schema; a type that is null is none. */
function withKnownTypes(schema: unknown, level: number): unknown {
  if (level > mostLevels) return schema;
  if (Array.isArray(schema)) return schema.map((one) => withKnownTypes(one, level + 1));
  if (!isObject(schema)) return schema;
  const read = (value: unknown) => withKnownTypes(value, level + 1);
  const members = Object.entries(schema).map(([key, value]): [string, unknown] => {
    if (key === "type") return [key, Array.isArray(value) ? value.map(knownName) : (knownName(value) ?? undefined)];
    if (inner.includes(key)) return [key, read(value)];
    if (!maps.includes(key) || !isObject(value)) return [key, value];
    return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, read(one)]))];
  });
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

function knownName(type: unknown): unknown {
  if (typeof type !== "string") return type;
  const name = type.toLowerCase();
  return names.has(name) ? name : (otherNames[name] ?? type);
}
