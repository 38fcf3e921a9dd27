import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import { isObject, type JsonObject } from "../../../base/json.ts";

/**
 * One way in which a value does not fit. `path` is a JSON pointer; `expected` the types wanted, for a type error; `byDefault`
 * a member that is missing at `path`, with the value that its schema gives it when it is not there.
 */
export interface Misfit {
  readonly path: string;
  readonly text: string;
  readonly expected: readonly string[] | undefined;
  /** A finer rule than a type or a required member (`pattern`, `enum`, `maxLength`): clients differ in whether they check it. */
  readonly isFine: boolean;
  readonly byDefault?: { readonly key: string; readonly value: unknown };
}

/** A JSON Schema ready to check values against. */
export interface SchemaCheck {
  /** Everything that does not fit; empty when the value is valid. */
  misfits(value: unknown): readonly Misfit[];
  /** Whether an object that is still being written is valid so far: everything but missing members counts. */
  fitsSoFar(value: JsonObject): boolean;
  /** Whether the named member is a string without any constraint, so that its text can pass before it is whole. */
  isFreeText(key: string): boolean;
  readonly required: readonly string[];
}

const formats = formatsPlugin.default;
const options = {
  strict: false,
  allErrors: true,
  verbose: true,
  validateSchema: false,
  addUsedSchema: false,
  unicodeRegExp: false,
  logger: false,
} as const;

/**
 * Compiles a client's schema: draft-07 if it says so, 2020-12 otherwise. A schema that cannot be compiled (a reference leads
 * nowhere, or it is no schema) checks only its list of required members; the client checks the rest. `what` names the checked
 * value in messages.
 */
export function compileSchema(schema: JsonObject, what = "the arguments"): SchemaCheck {
  const required = Array.isArray(schema["required"]) ? schema["required"].filter((key) => typeof key === "string") : [];
  const whole = compiled(schema) ?? compiled({ type: "object", required });
  const { required: _, ...open } = schema;
  const soFar = hasCrossRules(schema) ? undefined : compiled(open);
  const properties: JsonObject = isObject(schema["properties"]) ? schema["properties"] : {};
  return {
    required,
    misfits(value) {
      if (whole === undefined || whole(value)) return [];
      const errors = whole.errors ?? [];
      return errors.map((error) => ({ ...misfitOf(error, what), isFine: isFine(error, errors) }));
    },
    fitsSoFar: (value) => soFar?.(value) === true,
    isFreeText: (key) => Object.hasOwn(properties, key) && isPlainString(properties[key]),
  };
}

function compiled(schema: JsonObject): ValidateFunction | undefined {
  const dialect = typeof schema["$schema"] === "string" ? schema["$schema"] : "";
  const { $schema: _, $id: __, ...body } = schema;
  const validator = /draft-0[4-7]/.test(dialect) ? new Ajv(options) : new Ajv2020(options);
  formats(validator);
  try {
    return validator.compile(body);
  } catch {
    return undefined; // a broken schema: the caller falls back
  }
}

/** Rules at the top that look at several members at once: an object half written cannot be judged by them. */
function hasCrossRules(schema: JsonObject): boolean {
  const cross = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "const",
    "enum",
  ];
  return cross.some((key) => key in schema);
}

const annotations = new Set([
  "type",
  "description",
  "title",
  "default",
  "examples",
  "example",
  "deprecated",
  "$comment",
]);

function isPlainString(schema: unknown): boolean {
  return isObject(schema) && schema["type"] === "string" && Object.keys(schema).every((key) => annotations.has(key));
}

/** The rules that a tool depends on: the right types, and every required member. */
const coarse = new Set(["type", "required"]);

/**
 * Whether the error is about a finer rule. Of several alternatives (`anyOf`, `oneOf`) all fail: the types of the others do not
 * count where one fails by finer rules only.
 */
function isFine(error: ErrorObject, all: readonly ErrorObject[]): boolean {
  if (!coarse.has(error.keyword)) return true;
  const union = /^(.*\/(?:anyOf|oneOf))\/\d+\//.exec(error.schemaPath)?.[1];
  if (union === undefined) return false;
  const branches = new Map<string, boolean>();
  for (const { schemaPath, keyword } of all) {
    if (!schemaPath.startsWith(`${union}/`)) continue;
    const branch = schemaPath.slice(union.length + 1).split("/")[0] ?? "";
    branches.set(branch, (branches.get(branch) ?? true) && !coarse.has(keyword));
  }
  return [...branches.values()].includes(true);
}

function misfitOf(error: ErrorObject, what: string): Omit<Misfit, "isFine"> {
  const params = error.params as Readonly<Record<string, unknown>>; // ajv types it per keyword; only known keys are read
  const where = error.instancePath === "" ? what : error.instancePath;
  let detail = error.message ?? "do not fit";
  if (error.keyword === "additionalProperties") detail += `: ${String(params["additionalProperty"])}`;
  if (error.keyword === "enum" && Array.isArray(params["allowedValues"])) {
    detail += `: ${params["allowedValues"]
      .slice(0, 20)
      .map((value) => JSON.stringify(value))
      .join(", ")}`;
  }
  const type = error.keyword === "type" ? params["type"] : undefined;
  const expected = typeof type === "string" ? type.split(",") : Array.isArray(type) ? type.map(String) : undefined;
  const byDefault = error.keyword === "required" ? defaultOf(error.parentSchema, params["missingProperty"]) : undefined;
  return { path: error.instancePath, text: `${where} ${detail}`, expected, ...(byDefault && { byDefault }) };
}

/** The default of a member that its schema both requires and has a value for. */
function defaultOf(schema: unknown, key: unknown): Misfit["byDefault"] {
  const properties = isObject(schema) ? schema["properties"] : undefined;
  const member = isObject(properties) && typeof key === "string" ? properties[key] : undefined;
  return isObject(member) && Object.hasOwn(member, "default")
    ? { key: String(key), value: member["default"] }
    : undefined;
}
