import { FieldDescriptorProto_Type } from "@bufbuild/protobuf/wkt";
import type { AnyNode, ArrayExpression, ObjectExpression } from "acorn";
import { constantOf, lastName, numberOf, propertyKeyOf, stringOf } from "./literals.ts";

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
const byNumber: ReadonlyMap<unknown, ScalarNumber> = new Map(scalarNumbers.map((scalar) => [scalar, scalar]));
const byName: ReadonlyMap<unknown, ScalarNumber> = new Map(Object.entries(scalarTypes));

/** The type of a field or of a map's values, as it stands in the source. */
export interface RawType {
  readonly kind: string;
  readonly scalar: ScalarNumber | undefined;
  /** The reference to a message or an enum, without the `getEnumType` around it. */
  readonly reference: AnyNode | undefined;
}

/** A field as written in the source. It is read as soon as its list is parsed, so that the list's tree can be freed. */
export interface RawField extends RawType {
  readonly number: number;
  readonly name: string;
  readonly jsonName: string | undefined;
  readonly mapKey: ScalarNumber | undefined;
  readonly mapValue: RawType | undefined;
  readonly repeated: boolean;
  readonly packed: boolean | undefined;
  readonly optional: boolean;
  readonly oneof: string | undefined;
}

/** A value of an enum as it stands in the source. */
export interface RawValue {
  readonly number: number;
  readonly name: string;
}

/**
 * The elements of a list of fields; undefined for one without number or name.
 * Source: docs/dev/wire/extension-bundle.md, "Field objects".
 */
export function rawFields(list: ArrayExpression): readonly (RawField | undefined)[] {
  return list.elements.map((element) => {
    if (element?.type !== "ObjectExpression") return undefined;
    const found = entriesOf(element);
    const number = numberOf(found.no);
    const name = stringOf(found.name);
    if (number === undefined || name === undefined) return undefined;
    const packed = constantOf(found.packed);
    return {
      ...rawType(found),
      number,
      name,
      jsonName: stringOf(found.jsonName),
      mapKey: scalarOf(found.K),
      mapValue: found.V?.type === "ObjectExpression" ? rawType(entriesOf(found.V)) : undefined,
      repeated: constantOf(found.repeated) === true,
      packed: typeof packed === "boolean" ? packed : undefined,
      optional: constantOf(found.opt) === true,
      oneof: stringOf(found.oneof),
    };
  });
}

/** The same for an enum's values. */
export function rawValues(list: ArrayExpression): readonly (RawValue | undefined)[] {
  return list.elements.map((element) => {
    const found = element?.type === "ObjectExpression" ? entriesOf(element) : undefined;
    const number = numberOf(found?.no);
    const name = stringOf(found?.name);
    return number === undefined || name === undefined ? undefined : { number, name };
  });
}

const keys = ["no", "name", "kind", "T", "K", "V", "jsonName", "repeated", "packed", "opt", "oneof"] as const;
type Entries = { [key in (typeof keys)[number]]?: AnyNode };
const known: ReadonlySet<string> = new Set(keys);

function entriesOf(node: ObjectExpression): Entries {
  const found: Entries = {};
  for (const property of node.properties) {
    if (property.type !== "Property" || property.computed) continue;
    const key = propertyKeyOf(property.key);
    if (key !== undefined && known.has(key)) found[key as keyof Entries] = property.value; // as just seen
  }
  return found;
}

function rawType(found: Entries): RawType {
  const kind = stringOf(found.kind) ?? "";
  const type = found.T;
  if (kind === "scalar") return { kind, scalar: scalarOf(type), reference: undefined };
  const reference = kind === "enum" && type?.type === "CallExpression" ? type.arguments[0] : type;
  return { kind, scalar: undefined, reference };
}

function scalarOf(node: AnyNode | undefined): ScalarNumber | undefined {
  if (node?.type === "MemberExpression") return byName.get(lastName(node));
  return byNumber.get(numberOf(node));
}
