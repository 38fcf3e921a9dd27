import type { RawMessage, Scope } from "./raw-bundle.ts";
import type { RawField, RawType, ScalarNumber } from "./raw-field.ts";
import type { Resolver } from "./resolver.ts";

/** The type of a field or of a map's values. */
export type FieldType =
  | { readonly kind: "scalar"; readonly scalar: ScalarNumber }
  | { readonly kind: "message" | "enum"; readonly typeName: string };

/** A field as generated code lists it. */
export interface ReadField {
  readonly number: number;
  readonly name: string;
  readonly jsonName: string | undefined;
  readonly type: FieldType;
  /** Set for a map; `type` is then that of its values. */
  readonly mapKey: ScalarNumber | undefined;
  readonly repeated: boolean;
  readonly packed: boolean | undefined;
  readonly optional: boolean;
  readonly oneof: string | undefined;
}

/** Something that could not be read; the rest was. */
export interface SchemaProblem {
  /** `exa.cortex_pb.CascadeConfig.planner_config`. */
  readonly where: string;
  readonly what: string;
}

/** Types that fields refer to by a name that leads nowhere; each is a problem once. */
export class Guesses {
  readonly #fields = new Map<string, string[]>();

  note(typeName: string, field: string): void {
    const fields = this.#fields.get(typeName) ?? [];
    this.#fields.set(typeName, fields);
    fields.push(field);
  }

  problems(): readonly SchemaProblem[] {
    return [...this.#fields].map(([where, [first = "", ...more]]) => ({
      where,
      what:
        more.length === 0
          ? `${first} refers to it by its name only`
          : `${more.length + 1} fields refer to it by its name only, ${first} first`,
    }));
  }
}

/**
 * The fields of a message, with their references resolved. A field that cannot be read is reported and left out.
 *
 * Source: docs/dev/wire/extension-bundle.md, "Field objects".
 */
export function readFields(
  message: RawMessage,
  resolver: Resolver,
  problems: SchemaProblem[],
  guesses: Guesses,
): readonly ReadField[] {
  const { fields, typeName = "" } = message;
  if (fields === undefined) return [];
  const read: ReadField[] = [];
  for (const raw of fields.list) {
    if (raw === undefined || !isFieldNumber(raw.number)) {
      problems.push({ where: typeName, what: "a field without a number or a name" });
      continue;
    }
    const problem = (what: string) => problems.push({ where: `${typeName}.${raw.name}`, what });
    const onGuess = (guessed: string) => guesses.note(guessed, `${typeName}.${raw.name}`);
    const type = readType(raw, { scope: fields.scope, message, resolver, problem, onGuess });
    if (type === undefined) continue;
    const { number, name, jsonName, repeated, packed, optional, oneof } = raw;
    const mapKey = raw.kind === "map" ? raw.mapKey : undefined;
    read.push({ number, name, jsonName, type, mapKey, repeated, packed, optional, oneof });
  }
  return withoutDoubles(read, typeName, problems);
}

interface FieldReader {
  readonly scope: Scope;
  readonly message: RawMessage;
  readonly resolver: Resolver;
  problem(what: string): void;
  onGuess(typeName: string): void;
}

function readType(raw: RawType & Partial<RawField>, reading: FieldReader): FieldType | undefined {
  const { kind, scalar, reference } = raw;
  switch (kind) {
    case "scalar":
      if (scalar === undefined) reading.problem("its scalar type is unknown");
      return scalar === undefined ? undefined : { kind, scalar };
    case "message":
    case "enum": {
      const found =
        reference === undefined ? undefined : reading.resolver.typeOf(reference, reading.scope, reading.message);
      if (found === undefined) reading.problem(`the ${kind} it refers to was not found`);
      else if (found.guessed) reading.onGuess(found.typeName);
      return found === undefined ? undefined : { kind, typeName: found.typeName };
    }
    case "map":
      if (raw.mapKey === undefined || raw.mapValue === undefined || raw.mapValue.kind === "map") {
        reading.problem("its key or value type is unknown");
        return undefined;
      }
      return readType(raw.mapValue, reading);
    default:
      reading.problem("its kind is unknown");
      return undefined;
  }
}

function isFieldNumber(number: number): boolean {
  return Number.isInteger(number) && number >= 1 && number <= 536_870_911 && (number < 19_000 || number > 19_999);
}

function withoutDoubles(
  fields: readonly ReadField[],
  typeName: string,
  problems: SchemaProblem[],
): readonly ReadField[] {
  const numbers = new Set<number>();
  const names = new Set<string>();
  return fields.filter((field) => {
    const isFirst = !numbers.has(field.number) && !names.has(field.name);
    if (!isFirst) problems.push({ where: `${typeName}.${field.name}`, what: "its number or name is there twice" });
    numbers.add(field.number);
    names.add(field.name);
    return isFirst;
  });
}
