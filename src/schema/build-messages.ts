import { create } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import type { ScalarNumber } from "./raw-field.ts";
import type { FieldType, ReadField } from "./read-fields.ts";

/**
 * A message's descriptor from its fields: maps get their entry type, optional fields their synthetic oneof, after the real
 * ones as protobuf demands.
 *
 * Source: docs/dev/wire/extension-bundle.md, "From code to descriptors".
 */
export function buildMessage(name: string, typeName: string, fields: readonly ReadField[]): DescriptorProto {
  const message = create(DescriptorProtoSchema, { name });
  const oneofs = [...new Set(fields.flatMap((field) => field.oneof ?? []))];
  const optionals = fields.filter((field) => isExplicit(field)).map((field) => `_${field.name}`);
  message.oneofDecl = [...oneofs, ...optionals].map((oneof) => ({
    $typeName: "google.protobuf.OneofDescriptorProto",
    name: oneof,
  }));
  for (const field of fields) {
    const proto = fieldProto(field, field.mapKey === undefined ? field.type : entryType(typeName, field.name));
    if (field.oneof !== undefined) proto.oneofIndex = oneofs.indexOf(field.oneof);
    else if (isExplicit(field)) {
      proto.proto3Optional = true;
      proto.oneofIndex = oneofs.length + optionals.indexOf(`_${field.name}`);
    }
    message.field.push(proto);
    if (field.mapKey !== undefined) message.nestedType.push(mapEntry(field, field.mapKey));
  }
  return message;
}

/** `map_field` → `MapFieldEntry`, as protoc names it. */
function entryName(fieldName: string): string {
  const camel = fieldName.replaceAll(/(?:^|_)([a-z0-9])/gi, (_, letter: string) => letter.toUpperCase());
  return `${camel.replaceAll("_", "")}Entry`;
}

function isExplicit(field: ReadField): boolean {
  return field.optional && field.oneof === undefined && !field.repeated && field.mapKey === undefined;
}

function entryType(typeName: string, fieldName: string): FieldType {
  return { kind: "message", typeName: `${typeName}.${entryName(fieldName)}` };
}

function mapEntry(field: ReadField, key: ScalarNumber): DescriptorProto {
  const entry = create(DescriptorProtoSchema, { name: entryName(field.name), options: { mapEntry: true } });
  const plain = {
    jsonName: undefined,
    mapKey: undefined,
    repeated: false,
    packed: undefined,
    optional: false,
    oneof: undefined,
  };
  entry.field = [
    fieldProto(
      { ...plain, number: 1, name: "key", type: { kind: "scalar", scalar: key } },
      { kind: "scalar", scalar: key },
    ),
    fieldProto({ ...plain, number: 2, name: "value", type: field.type }, field.type),
  ];
  return entry;
}

function fieldProto(field: ReadField, type: FieldType): FieldDescriptorProto {
  const isList = field.repeated || field.mapKey !== undefined;
  return create(FieldDescriptorProtoSchema, {
    name: field.name,
    number: field.number,
    label: isList ? FieldDescriptorProto_Label.REPEATED : FieldDescriptorProto_Label.OPTIONAL,
    type: type.kind === "scalar" ? type.scalar : typeNumbers[type.kind],
    jsonName: field.jsonName ?? jsonNameOf(field.name),
    ...(type.kind === "scalar" ? {} : { typeName: `.${type.typeName}` }),
    ...(field.packed === false && isList ? { options: { packed: false } } : {}),
  });
}

const typeNumbers = { message: FieldDescriptorProto_Type.MESSAGE, enum: FieldDescriptorProto_Type.ENUM } as const;

/** `user_id` → `userId`, as protoc derives it. */
export function jsonNameOf(name: string): string {
  let json = "";
  let from = 0;
  for (let at = name.indexOf("_"); at >= 0; at = name.indexOf("_", from)) {
    let next = at + 1;
    while (name[next] === "_") next++;
    json += name.slice(from, at) + (name[next] ?? "").toUpperCase();
    from = next + 1;
  }
  return json + name.slice(from);
}
