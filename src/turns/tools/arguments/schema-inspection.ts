import { isObject, type JsonObject } from "../../../base/json.ts";

/**
 * One way in which a value does not fit. `path` is a JSON pointer; `expected` the types wanted, for a type error; `byDefault`
 * a member that is missing at `path`, with the value that its schema gives it when it is not there.
 */
export interface Misfit {
  readonly path: string;
  readonly text: string;
  readonly expected: readonly string[] | undefined;
  /** A finer rule than a type or a required member (`enum`, `maxLength`): clients differ in whether they check it. */
  readonly isFine: boolean;
  readonly byDefault?: { readonly key: string; readonly value: unknown };
}

/** The place of a value: `pointer` is its JSON pointer. */
type Place = { readonly value: unknown; readonly pointer: string };

const deepest = 500;
const knownTypes = new Set(["string", "number", "integer", "boolean", "null", "object", "array"]);
/** Rules that are not checked: they run an expression, or cost more than they tell. */
const unchecked = ["pattern", "patternProperties", "format", "contains", "unevaluatedProperties", "unevaluatedItems"];

/** Thrown inside when the steps are spent or the levels too many. */
class StepLimit extends Error {}

/**
 * Reads values by JSON Schema (draft-07 and 2020-12), without compiling anything. A rule that it does not check accepts every value;
 * `not`, `if` and the "only one" of `oneOf` decide nothing where they depend on such a rule.
 * `src/turns/tools/arguments/schema-check.test.ts` compares its verdicts with a complete validator.
 */
export class Inspection {
  readonly #root: JsonObject;
  readonly #what: string;
  readonly #references = new Map<string, unknown>();
  #left: number;
  #depth = 0;
  #found: Misfit[] = [];
  /** Counts the unchecked rules met, so that a rule above them can tell whether it knows enough. */
  #unsure = 0;

  /** `steps` is for all values together. */
  constructor(root: JsonObject, what: string, steps: number) {
    this.#root = root;
    this.#what = what;
    this.#left = steps;
  }

  /** What does not fit, or undefined when the steps are spent. */
  misfits(schema: unknown, value: unknown): readonly Misfit[] | undefined {
    this.#found = [];
    this.#depth = 0;
    try {
      this.#inspect(schema, { value, pointer: "" });
      return this.#found;
    } catch (error) {
      if (!(error instanceof StepLimit)) throw error;
      this.#left = 0; // a deep value would be as deep the next time
      return undefined;
    }
  }

  #spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new StepLimit();
  }

  #miss(place: Place, why: string, more: Partial<Misfit> = {}): void {
    this.#spend(4 + (place.pointer.length >> 5));
    const where = place.pointer === "" ? this.#what : place.pointer.slice(0, 200);
    this.#found.push({ path: place.pointer, text: `${where} ${why}`, expected: undefined, isFine: true, ...more });
  }

  #inspect(schema: unknown, place: Place): void {
    this.#spend(1);
    if (schema === false) return this.#miss(place, "is not allowed");
    if (!isObject(schema)) return;
    if (++this.#depth > deepest) throw new StepLimit();
    if (unchecked.some((rule) => schema[rule] !== undefined)) this.#unsure++;
    const { value } = place;
    this.#type(schema, place);
    this.#combined(schema, place);
    if (schema["enum"] !== undefined) this.#oneOfValues(schema["enum"], place);
    if (Object.hasOwn(schema, "const") && !this.#isValue(schema["const"], value))
      this.#miss(place, "must be equal to constant");
    if (typeof value === "string") this.#length(schema, place, "characters", this.#points(value));
    else if (typeof value === "number") this.#number(schema, place);
    else if (Array.isArray(value)) this.#array(schema, { value, pointer: place.pointer });
    else if (isObject(value)) this.#object(schema, { value, pointer: place.pointer });
    this.#depth--;
  }

  #type(schema: JsonObject, place: Place): void {
    const { type } = schema;
    if (type === undefined || isOfType(place.value, type)) return;
    const types: readonly unknown[] = Array.isArray(type) ? type : [type];
    if (!types.every((one) => typeof one === "string" && knownTypes.has(one))) {
      this.#unsure++;
      return;
    }
    const wanted = schema["nullable"] === true ? [...types, "null"] : types;
    if (wanted.some((one) => isOfType(place.value, one))) return;
    this.#miss(place, `must be ${wanted.join(",")}`, { expected: wanted.map(String), isFine: false });
  }

  #combined(schema: JsonObject, place: Place): void {
    if (schema["$dynamicRef"] !== undefined || schema["$recursiveRef"] !== undefined) this.#unsure++;
    if (typeof schema["$ref"] === "string") this.#inspect(this.#resolve(schema["$ref"]), place);
    for (const all of listOf(schema["allOf"])) this.#inspect(all, place);
    this.#oneOf(schema["anyOf"], place, "anyOf");
    this.#oneOf(schema["oneOf"], place, "oneOf");
    if (schema["not"] !== undefined && this.#verdict(schema["not"], place) === true)
      this.#miss(place, "must NOT be valid");
    if (schema["if"] === undefined) return;
    const verdict = this.#verdict(schema["if"], place);
    if (verdict === undefined) this.#unsure++;
    else this.#inspect(verdict ? schema["then"] : schema["else"], place);
  }

  /** Whether the value fits; undefined if that depends on a rule that is not checked. */
  #verdict(schema: unknown, place: Place): boolean | undefined {
    const [misfits, unsure] = this.#apart(schema, place);
    if (misfits.length > 0) return false; // it fails by a rule that was checked
    if (unsure) this.#unsure++;
    return unsure ? undefined : true;
  }

  /** Inspects by a branch: its misfits are not found yet. */
  #apart(schema: unknown, place: Place): readonly [misfits: readonly Misfit[], unsure: boolean] {
    const [start, unsureBefore] = [this.#found.length, this.#unsure];
    this.#inspect(schema, place);
    const unsure = this.#unsure > unsureBefore;
    this.#unsure = unsureBefore;
    return [this.#found.splice(start), unsure];
  }

  /**
   * All alternatives of a failed union are told. Their types do not count where one of them fails by finer rules only: the value
   * was probably meant for that one.
   */
  #oneOf(branches: unknown, place: Place, rule: "anyOf" | "oneOf"): void {
    if (!Array.isArray(branches) || branches.length === 0) return;
    const failed: (readonly Misfit[])[] = [];
    let [matches, isUnsure] = [0, false];
    for (const branch of branches) {
      const [misfits, unsure] = this.#apart(branch, place);
      if (misfits.length > 0) failed.push(misfits);
      else {
        matches++;
        isUnsure ||= unsure;
      }
    }
    if (isUnsure) this.#unsure++;
    if (matches === 1 || (matches > 1 && (rule === "anyOf" || isUnsure))) return;
    if (matches === 0) {
      const isFine = failed.some((misfits) => misfits.every((misfit) => misfit.isFine));
      for (const misfit of failed.flat()) this.#found.push(isFine ? { ...misfit, isFine } : misfit);
    }
    this.#miss(place, rule === "anyOf" ? "must match a schema in anyOf" : "must match exactly one schema in oneOf");
  }

  /** The schema that a reference inside this one names; everything fits another one. */
  #resolve(reference: string): unknown {
    const known = this.#references.get(reference);
    if (known !== undefined) return known;
    this.#spend(reference.length);
    let target: unknown = this.#root;
    for (const step of reference.startsWith("#") ? pointerSteps(reference.slice(1)) : [undefined])
      target =
        step !== undefined && (isObject(target) || Array.isArray(target)) && Object.hasOwn(target, step)
          ? (target as JsonObject)[step] // lists are objects too
          : undefined;
    if (target === undefined) this.#unsure++;
    else this.#references.set(reference, target);
    return target;
  }

  #oneOfValues(allowed: unknown, place: Place): void {
    if (!Array.isArray(allowed)) return;
    this.#spend(allowed.length);
    if (allowed.some((one) => this.#isValue(one, place.value))) return;
    const shown = allowed.slice(0, 20).map((one) => JSON.stringify(one));
    this.#miss(place, `must be equal to one of the allowed values: ${shown.join(", ").slice(0, 2_000)}`);
  }

  /** Whether two values are the same. Lists and objects are not compared: two of them always count as the same. */
  #isValue(one: unknown, value: unknown): boolean {
    if (typeof one !== "object" || one === null || typeof value !== "object" || value === null) return one === value;
    this.#unsure++;
    return true;
  }

  /** Characters as JSON Schema counts them: a surrogate pair is one. */
  #points(text: string): number {
    this.#spend(text.length >> 5);
    let pairs = 0;
    for (let i = 1; i < text.length; i++) {
      if ((text.charCodeAt(i) & 0xfc00) === 0xdc00 && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800) pairs++;
    }
    return text.length - pairs;
  }

  #length(schema: JsonObject, place: Place, unit: keyof typeof lengthRules, length: number): void {
    const [least, most] = lengthRules[unit];
    if (isBelow(length, schema[least])) this.#miss(place, `must NOT have fewer than ${String(schema[least])} ${unit}`);
    if (isBelow(schema[most], length)) this.#miss(place, `must NOT have more than ${String(schema[most])} ${unit}`);
  }

  #number(schema: JsonObject, place: Place): void {
    const { value } = place;
    const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema;
    if (isBelow(value, minimum)) this.#miss(place, `must be >= ${String(minimum)}`);
    if (isBelow(maximum, value)) this.#miss(place, `must be <= ${String(maximum)}`);
    if (typeof above === "number" && !isBelow(above, value)) this.#miss(place, `must be > ${above}`);
    if (typeof below === "number" && !isBelow(value, below)) this.#miss(place, `must be < ${below}`);
    if (typeof multipleOf === "number" && multipleOf > 0 && !Number.isInteger(Number(value) / multipleOf))
      this.#miss(place, `must be multiple of ${multipleOf}`);
  }

  #array(schema: JsonObject, place: Place & { readonly value: readonly unknown[] }): void {
    const { value, pointer } = place;
    this.#length(schema, place, "items", value.length);
    const first = listOf(schema["prefixItems"] ?? schema["items"]);
    const rest = Array.isArray(schema["items"]) ? schema["additionalItems"] : schema["items"];
    if (first.length > 0 || rest !== undefined)
      value.forEach((item, i) =>
        this.#inspect(i < first.length ? first[i] : rest, { value: item, pointer: `${pointer}/${i}` }),
      );
    if (schema["uniqueItems"] !== true) return;
    this.#spend(value.length);
    const scalars = value.filter((item) => typeof item !== "object" || item === null);
    if (value.length - scalars.length > 1) this.#unsure++;
    if (new Set(scalars).size < scalars.length) this.#miss(place, "must NOT have duplicate items");
  }

  #object(schema: JsonObject, place: Place & { readonly value: JsonObject }): void {
    const { value, pointer } = place;
    const keys = Object.keys(value);
    this.#spend(keys.length);
    this.#length(schema, place, "properties", keys.length);
    this.#required(schema, schema["required"], place);
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    const others = schema["patternProperties"] === undefined ? schema["additionalProperties"] : undefined;
    const names = schema["propertyNames"];
    const dependent = ["dependentRequired", "dependentSchemas", "dependencies"]
      .map((rule) => schema[rule])
      .filter(isObject);
    for (const key of keys) {
      this.#spend(key.length >> 5);
      const inner = { value: value[key], pointer: `${pointer}/${escaped(key)}` };
      if (Object.hasOwn(properties, key)) this.#inspect(properties[key], inner);
      else if (others === false) this.#miss(place, `must NOT have additional properties: ${key.slice(0, 200)}`);
      else if (others !== undefined) this.#inspect(others, inner);
      if (names !== undefined && this.#verdict(names, { value: key, pointer }) === false)
        this.#miss(place, `must NOT have a property of this name: ${key.slice(0, 200)}`);
      for (const rules of dependent) {
        if (!Object.hasOwn(rules, key)) continue;
        if (Array.isArray(rules[key])) this.#required({}, rules[key], place);
        else this.#inspect(rules[key], place);
      }
    }
  }

  #required(schema: JsonObject, names: unknown, place: Place & { readonly value: JsonObject }): void {
    const required = listOf(names);
    this.#spend(required.length);
    for (const key of required) {
      if (typeof key !== "string" || Object.hasOwn(place.value, key)) continue;
      const member = objectOf(schema["properties"])[key];
      const byDefault =
        isObject(member) && Object.hasOwn(member, "default") ? { key, value: member["default"] } : undefined;
      this.#miss(place, `must have required property '${key.slice(0, 200)}'`, {
        isFine: false,
        ...(byDefault && { byDefault }),
      });
    }
  }
}

const lengthRules = {
  characters: ["minLength", "maxLength"],
  items: ["minItems", "maxItems"],
  properties: ["minProperties", "maxProperties"],
} as const;

function isBelow(one: unknown, other: unknown): boolean {
  return typeof one === "number" && typeof other === "number" && one < other;
}

function isOfType(value: unknown, type: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  return type === "null" ? value === null : typeof value === type;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function escaped(key: string): string {
  return /[~/]/.test(key) ? key.replaceAll("~", "~0").replaceAll("/", "~1") : key;
}

/** The member names in a reference's fragment: a JSON pointer, whose other characters may be percent-encoded. */
function pointerSteps(fragment: string): readonly (string | undefined)[] {
  try {
    const [first, ...steps] = decodeURIComponent(fragment).split("/");
    return first === "" ? steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~")) : [undefined];
  } catch {
    return [undefined]; // no valid encoding: it names nothing
  }
}
