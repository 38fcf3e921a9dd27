import type { DescEnum, DescField, DescFile, DescMessage, FileRegistry } from "@bufbuild/protobuf";

/** A schema as plain data by full name, without its files and their order: equal for equal schemas. */
export function normalForm(files: Iterable<DescFile>): Record<string, unknown> {
  const form: Record<string, unknown> = {};
  const visit = (holder: DescFile | DescMessage) => {
    for (const message of holder.kind === "file" ? holder.messages : holder.nestedMessages) {
      form[message.typeName] = {
        fields: message.fields.map(fieldForm).toSorted((a, b) => a.number - b.number),
        oneofs: message.oneofs.map((oneof) => oneof.name).toSorted((a, b) => a.localeCompare(b)),
      };
      visit(message);
    }
    for (const type of holder.kind === "file" ? holder.enums : holder.nestedEnums) form[type.typeName] = enumForm(type);
  };
  for (const file of files) {
    if (file.proto.package.startsWith("google.protobuf")) continue;
    visit(file);
    for (const service of file.services) {
      form[service.typeName] = service.methods.map(({ name, methodKind, input, output }) => {
        return { name, methodKind, input: input.typeName, output: output.typeName };
      });
    }
  }
  return form;
}

/** The files of a registry. */
export function filesOf(registry: FileRegistry): readonly DescFile[] {
  return [...registry.files];
}

function fieldForm(field: DescField) {
  const type =
    field.message?.typeName ?? field.enum?.typeName ?? (field.fieldKind === "enum" ? undefined : field.scalar);
  return {
    number: field.number,
    name: field.name,
    jsonName: field.jsonName,
    kind: field.fieldKind,
    inner: field.fieldKind === "list" ? field.listKind : field.fieldKind === "map" ? field.mapKind : undefined,
    key: field.fieldKind === "map" ? field.mapKey : undefined,
    type,
    oneof: field.oneof?.name,
    optional: field.proto.proto3Optional,
    packed: field.fieldKind === "list" ? field.packed : undefined,
  };
}

function enumForm(type: DescEnum) {
  return type.values
    .map(({ name, number }) => ({ name, number }))
    .toSorted((a, b) => a.number - b.number || a.name.localeCompare(b.name));
}
