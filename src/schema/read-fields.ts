import { FieldDescriptorProto_Type } from "@bufbuild/protobuf/wkt";
import type { AnyNode } from "acorn";
import { constantOf, lastName, numberOf, propertiesOf, stringOf } from "./literals.ts";
import type { RawMessage, Scope } from "./raw-bundle.ts";
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

/** Names of protobuf-es' scalar types; its numbers are those of descriptors. */
const scalarTypes = {
  DOUBLE: FieldDescriptorProto_Type.DOUBLE,
  FLOAT: FieldDescriptorProto_Type.FLOAT,
  INT64: FieldDescriptorProto_Type.INT64,
  UINT64: FieldDescriptorProto_Type.UINT64,
  INT32: FieldDescriptorProto_Type.INT32,
  FIXED64: FieldDescriptorProto_Type.FIXED64,
  FIXED32: FieldDescriptorProto_Type.FIXED32,
  BOOL: FieldDescriptorProto_Type.BOOL,
  STRING: FieldDescriptorProto_Type.STRING,
  BYTES: FieldDescriptorProto_Type.BYTES,
  UINT32: FieldDescriptorProto_Type.UINT32,
  SFIXED32: FieldDescriptorProto_Type.SFIXED32,
  SFIXED64: FieldDescriptorProto_Type.SFIXED64,
  SINT32: FieldDescriptorProto_Type.SINT32,
  SINT64: FieldDescriptorProto_Type.SINT64,
} as const;
export type ScalarNumber = (typeof scalarTypes)[keyof typeof scalarTypes];
/** Every scalar type. */
export const scalarNumbers: readonly ScalarNumber[] = Object.values(scalarTypes);

/**
 * The fields of a message, with what they refer to resolved. A field that cannot be read is reported and left out.
 *
 * Source: facts/language-server.md, 7.1 (field object keys).
 */
export function readFields(message: RawMessage, resolver: Resolver, problems: SchemaProblem[]): readonly ReadField[] {
  const { fields, typeName = "" } = message;
  if (fields === undefined) return [];
  const read: ReadField[] = [];
  for (const element of fields.list.elements) {
    const properties = element?.type === "ObjectExpression" ? propertiesOf(element) : undefined;
    const number = numberOf(properties?.get("no"));
    const name = stringOf(properties?.get("name"));
    if (properties === undefined || number === undefined || name === undefined || !isFieldNumber(number)) {
      problems.push({ where: typeName, what: "a field without a number or a name" });
      continue;
    }
    const where = `${typeName}.${name}`;
    const problem = (what: string) => problems.push({ where, what });
    const type = readType(properties, { scope: fields.scope, message, resolver, problem });
    if (type === undefined) continue;
    const isMap = stringOf(properties.get("kind")) === "map";
    read.push({
      number,
      name,
      jsonName: stringOf(properties.get("jsonName")),
      type,
      mapKey: isMap ? scalarOf(properties.get("K")) : undefined,
      repeated: constantOf(properties.get("repeated")) === true,
      packed: packedOf(properties.get("packed")),
      optional: constantOf(properties.get("opt")) === true,
      oneof: stringOf(properties.get("oneof")),
    });
  }
  return withoutDoubles(read, typeName, problems);
}

interface Reading {
  readonly scope: Scope;
  readonly message: RawMessage;
  readonly resolver: Resolver;
  problem(what: string): void;
}

function readType(properties: ReadonlyMap<string, AnyNode>, reading: Reading): FieldType | undefined {
  const kind = stringOf(properties.get("kind")) ?? "";
  const type = properties.get("T");
  switch (kind) {
    case "scalar": {
      const scalar = scalarOf(type);
      if (scalar === undefined) reading.problem("its scalar type is unknown");
      return scalar === undefined ? undefined : { kind, scalar };
    }
    case "message":
    case "enum": {
      const target = kind === "enum" && type?.type === "CallExpression" ? type.arguments[0] : type;
      const found = target === undefined ? undefined : reading.resolver.typeOf(target, reading.scope, reading.message);
      if (found === undefined) reading.problem(`the ${kind} it refers to was not found`);
      else if (found.guessed) reading.problem(`the ${kind} it refers to is known by its name only: ${found.typeName}`);
      return found === undefined ? undefined : { kind, typeName: found.typeName };
    }
    case "map": {
      const value = properties.get("V");
      if (scalarOf(properties.get("K")) === undefined || value?.type !== "ObjectExpression") {
        reading.problem("its key or value type is unknown");
        return undefined;
      }
      return readType(propertiesOf(value), reading);
    }
    default:
      reading.problem("its kind is unknown");
      return undefined;
  }
}

function scalarOf(node: AnyNode | undefined): ScalarNumber | undefined {
  const number = numberOf(node);
  const name = node?.type === "MemberExpression" ? lastName(node) : undefined;
  for (const [key, value] of Object.entries(scalarTypes)) {
    const asNumber: number = value;
    if (key === name || asNumber === number) return value;
  }
  return undefined;
}

function packedOf(node: AnyNode | undefined): boolean | undefined {
  const value = constantOf(node);
  return typeof value === "boolean" ? value : undefined;
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
