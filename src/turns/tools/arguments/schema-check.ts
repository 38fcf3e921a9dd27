import { isObject, type JsonObject, numberOf, objectOf, writeJson } from "../../../base/json.ts";
import { memberAt } from "./json.ts";

/**
 * One way in which a value does not fit. `path` has the keys and indexes down to it; `expected` the types wanted, for a type error;
 * `byDefault` a member that is missing at `path`, with the value that its schema gives it when it is not there.
 */
export interface Misfit {
  readonly path: readonly string[];
  readonly text: string;
  readonly expected?: readonly string[];
  /** A finer rule than a type or a required member (`enum`, `maxLength`): clients differ in whether they check it. */
  readonly isFine: boolean;
  readonly byDefault?: { readonly key: string; readonly value: unknown };
}

/** A JSON Schema ready to check values against. */
export interface SchemaCheck {
  /** Everything that does not fit; empty when the value is valid. */
  misfits(value: unknown): readonly Misfit[];
  /** Whether an object that is still being written is valid so far: everything but missing members counts. */
  fitsSoFar(value: JsonObject): boolean;
  /** Whether the named member may be any string, so that its text can pass before it is whole. */
  isFreeText(key: string): boolean;
}

/** Schema nodes, members and characters (32 to a step) that one check may look at: 20 to 60 ms. */
const stepsOfACheck = 50_000;
const deepest = 500;
/** A text for which most limits of a length are too short. */
const longText = "x".repeat(10_000);

/** Rules at the top that look at several members at once: an object half written cannot be judged by them. */
const crossRules = ["$ref", "allOf", "anyOf", "oneOf", "const", "enum"];

/**
 * A check by a client's schema (draft-07 or 2020-12). A schema is foreign data, so nothing in it is compiled or run, and all checks by
 * one schema together take a fixed number of steps. Past them, or more than 500 levels deep, every value is valid: the client checks the
 * rest. A rule that is not known here accepts every value, and `oneOf` counts as `anyOf` (docs/http-api.md lists the rules). `what`
 * names the checked value in messages. `schema-check.test.ts` compares the verdicts with a complete validator.
 */
export function compileSchema(schema: JsonObject, what = "the arguments"): SchemaCheck {
  const whole = new Inspection(schema, what);
  const soFar = new Inspection(schema, what); // called for each member: it must not use up the steps of the whole
  const { required: _, ...open } = schema;
  const isJudgedInParts = !crossRules.some((rule) => Object.hasOwn(schema, rule));
  const fitsSoFar = (value: JsonObject) => isJudgedInParts && soFar.misfits(open, value).length === 0;
  return {
    misfits: (value) => whole.misfits(schema, value),
    fitsSoFar,
    isFreeText: (key) => ["", longText].every((text) => fitsSoFar({ [key]: text })),
  };
}

/** Thrown inside when the steps are spent or the levels too many. */
class StepLimit extends Error {}

type Path = readonly string[];

class Inspection {
  readonly #root: JsonObject;
  readonly #what: string;
  #left = stepsOfACheck;
  #depth = 0;
  #found: Misfit[] = [];

  constructor(root: JsonObject, what: string) {
    this.#root = root;
    this.#what = what;
  }

  misfits(schema: unknown, value: unknown): readonly Misfit[] {
    this.#found = [];
    this.#depth = 0;
    try {
      this.#inspect(schema, value, []);
      return this.#found;
    } catch (error) {
      if (!(error instanceof StepLimit)) throw error;
      this.#left = 0; // a deep value would be as deep the next time
      return [];
    }
  }

  #spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new StepLimit();
  }

  #miss(path: Path, why: string, more: Partial<Misfit> = {}): void {
    this.#spend(4 + path.length);
    const where = path.length === 0 ? this.#what : `/${path.join("/")}`.slice(0, 200);
    this.#found.push({ path, text: `${where} ${why}`, isFine: true, ...more });
  }

  #inspect(schema: unknown, value: unknown, path: Path): void {
    this.#spend(1 + (path.length >> 5));
    if (schema === false) this.#miss(path, "is not allowed");
    if (!isObject(schema)) return;
    if (++this.#depth > deepest) throw new StepLimit();
    const { type, enum: allowed } = schema;
    const types = schema["nullable"] === true ? [type, "null"].flat() : [type].flat();
    if (types.every((one) => typeof one === "string") && !types.some((one) => isOfType(value, one)))
      this.#miss(path, `must be ${types.join(",")}`, { expected: types, isFine: false });
    if (typeof schema["$ref"] === "string") this.#inspect(this.#resolve(schema["$ref"]), value, path);
    for (const all of listOf(schema["allOf"])) this.#inspect(all, value, path);
    for (const rule of ["anyOf", "oneOf"]) this.#alternatives(listOf(schema[rule]), value, path, rule);
    if (Array.isArray(allowed)) this.#spend(allowed.length);
    if (Array.isArray(allowed) && !allowed.some((one) => isSame(one, value))) {
      const shown = allowed.slice(0, 20).map((one) => writeJson(one));
      this.#miss(path, `must be equal to one of the allowed values: ${shown.join(", ").slice(0, 2_000)}`);
    }
    if (Object.hasOwn(schema, "const") && !isSame(schema["const"], value))
      this.#miss(path, "must be equal to constant");
    if (typeof value === "string") this.#string(schema, value, path);
    else if (numberOf(value) !== undefined) this.#number(schema, numberOf(value) ?? 0, path);
    else if (Array.isArray(value)) this.#array(schema, value, path);
    else if (isObject(value)) this.#object(schema, value, path);
    this.#depth--;
  }

  /**
   * All alternatives of a failed union are told. Their types do not count where one of them fails by finer rules only: the value
   * was probably meant for that one.
   */
  #alternatives(branches: readonly unknown[], value: unknown, path: Path, rule: string): void {
    const failed: (readonly Misfit[])[] = [];
    for (const branch of branches) {
      const start = this.#found.length;
      this.#inspect(branch, value, path);
      const misfits = this.#found.splice(start);
      if (misfits.length === 0) return;
      failed.push(misfits);
    }
    if (failed.length === 0) return;
    const isFine = failed.some((misfits) => misfits.every((misfit) => misfit.isFine));
    for (const misfit of failed.flat()) this.#found.push(isFine ? { ...misfit, isFine } : misfit);
    this.#miss(path, `must match a schema in ${rule}`);
  }

  /** The schema that a JSON pointer inside this one names; everything fits another reference. */
  #resolve(reference: string): unknown {
    this.#spend(1 + (reference.length >> 5));
    const [base, ...steps] = reference.split("/");
    const path = steps.map((step) => percentDecoded(step).replaceAll("~1", "/").replaceAll("~0", "~"));
    return base === "#" ? memberAt(this.#root, path) : undefined;
  }

  #string(schema: JsonObject, value: string, path: Path): void {
    if (schema["minLength"] === undefined && schema["maxLength"] === undefined) return;
    this.#spend(value.length >> 5);
    let points = 0;
    for (const _ of value) points++; // JSON Schema counts a surrogate pair as one
    this.#size(points, [schema["minLength"], schema["maxLength"]], path, "characters");
  }

  #size(size: number, [least, most]: readonly unknown[], path: Path, unit: string): void {
    if (typeof least === "number" && size < least) this.#miss(path, `must NOT have fewer than ${least} ${unit}`);
    if (typeof most === "number" && size > most) this.#miss(path, `must NOT have more than ${most} ${unit}`);
  }

  #number(schema: JsonObject, value: number, path: Path): void {
    const limit = (rule: string) => numberOf(schema[rule]);
    const [minimum, maximum] = [limit("minimum"), limit("maximum")];
    const [above, below, multipleOf] = [limit("exclusiveMinimum"), limit("exclusiveMaximum"), limit("multipleOf")];
    if (minimum !== undefined && value < minimum) this.#miss(path, `must be >= ${minimum}`);
    if (maximum !== undefined && value > maximum) this.#miss(path, `must be <= ${maximum}`);
    if (above !== undefined && value <= above) this.#miss(path, `must be > ${above}`);
    if (below !== undefined && value >= below) this.#miss(path, `must be < ${below}`);
    if (multipleOf !== undefined && multipleOf > 0 && !Number.isInteger(value / multipleOf))
      this.#miss(path, `must be multiple of ${multipleOf}`);
  }

  #array(schema: JsonObject, value: readonly unknown[], path: Path): void {
    this.#spend(value.length);
    this.#size(value.length, [schema["minItems"], schema["maxItems"]], path, "items");
    const first = listOf(schema["prefixItems"] ?? schema["items"]);
    const rest = Array.isArray(schema["items"]) ? schema["additionalItems"] : schema["items"];
    if (first.length > 0 || rest !== undefined)
      for (const [i, item] of value.entries())
        this.#inspect(i < first.length ? first[i] : rest, item, [...path, String(i)]);
    if (schema["uniqueItems"] === true && new Set(value).size < value.length)
      this.#miss(path, "must NOT have duplicate items");
  }

  #object(schema: JsonObject, value: JsonObject, path: Path): void {
    const properties = objectOf(schema["properties"]);
    for (const key of listOf(schema["required"])) {
      this.#spend(1);
      if (typeof key !== "string" || Object.hasOwn(value, key)) continue;
      const member = objectOf(properties[key]);
      const byDefault = Object.hasOwn(member, "default") ? { key, value: member["default"] } : undefined;
      this.#miss(path, `must have required property '${key.slice(0, 200)}'`, {
        isFine: false,
        ...(byDefault && { byDefault }),
      });
    }
    const others = schema["patternProperties"] === undefined ? schema["additionalProperties"] : undefined;
    for (const [key, member] of Object.entries(value)) {
      this.#spend(1 + (key.length >> 5));
      if (Object.hasOwn(properties, key)) this.#inspect(properties[key], member, [...path, key]);
      else if (others === false) this.#miss(path, `must NOT have additional properties: ${key.slice(0, 200)}`);
      else this.#inspect(others, member, [...path, key]);
    }
  }
}

/** Whether a value is of a type; a type that JSON Schema does not have takes every value. */
function isOfType(value: unknown, type: unknown): boolean {
  if (type === "integer") return Number.isInteger(numberOf(value));
  if (type === "number") return numberOf(value) !== undefined;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "null") return value === null;
  return type === "string" || type === "boolean" ? typeof value === type : true;
}

/** Lists and objects are not compared: two of them always count as the same. */
function isSame(one: unknown, value: unknown): boolean {
  if (numberOf(one) !== undefined || numberOf(value) !== undefined) return writeJson(one) === writeJson(value);
  return one === value || (typeof one === "object" && one !== null && typeof value === "object" && value !== null);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // no valid encoding
  }
}
