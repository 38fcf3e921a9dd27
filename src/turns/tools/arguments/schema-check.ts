import { isObject, type JsonObject } from "../../../base/json.ts";
import { Inspection, type Misfit } from "./schema-inspection.ts";

/** A JSON Schema ready to check values against. */
export interface SchemaCheck {
  /** Everything that does not fit; empty when the value is valid. */
  misfits(value: unknown): readonly Misfit[];
  /** Whether an object that is still being written is valid so far: everything but missing members counts. */
  fitsSoFar(value: JsonObject): boolean;
  /** Whether the named member is a string without any constraint, so that its text can pass before it is whole. */
  isFreeText(key: string): boolean;
}

/** Schema nodes, members and characters (32 to a step) that one check may look at: 20 to 60 ms. */
const stepsOfACheck = 50_000;

/**
 * A check by a client's schema. A schema is foreign data, so nothing in it is compiled or run, and all checks by one schema together
 * take a fixed number of steps. Past them, or more than 500 levels deep, every value is valid: the client checks the rest.
 * `pattern`, `patternProperties`, `format` and `contains` are not checked. `what` names the checked value in messages.
 */
export function compileSchema(schema: JsonObject, what = "the arguments"): SchemaCheck {
  const whole = new Inspection(schema, what, stepsOfACheck);
  const soFar = new Inspection(schema, what, stepsOfACheck); // called for each member: it must not use up the steps of the whole
  const { required: _, ...open } = schema;
  const isJudgedInParts = !crossRules.some((rule) => Object.hasOwn(schema, rule));
  const properties: JsonObject = isObject(schema["properties"]) ? schema["properties"] : {};
  return {
    misfits: (value) => whole.misfits(schema, value) ?? [],
    fitsSoFar: (value) => isJudgedInParts && soFar.misfits(open, value)?.length === 0,
    isFreeText: (key) => Object.hasOwn(properties, key) && isPlainString(properties[key]),
  };
}

/** Rules at the top that look at several members at once: an object half written cannot be judged by them. */
const crossRules = [
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
