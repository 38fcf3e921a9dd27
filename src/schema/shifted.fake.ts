import { clone, create, createFileRegistry, type DescFile, type FileRegistry } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";

export interface Shift {
  /** The number of a field in the shifted schema. */
  field(typeName: string, name: string, number: number): number | undefined;
  /** The number of an enum's value in it. */
  value(typeName: string, name: string, number: number): number;
}

/** A schema with other numbers under the same names; `undefined` leaves a field out. */
export function shifted(files: readonly DescFile[], shift: Shift): FileRegistry {
  const set = create(FileDescriptorSetSchema);
  const seen = new Set<string>();
  const add = (file: DescFile) => {
    if (seen.has(file.proto.name)) return;
    seen.add(file.proto.name);
    file.dependencies.forEach(add);
    set.file.push(file.proto.package.startsWith("google.") ? file.proto : shiftedFile(file.proto, shift));
  };
  files.forEach(add);
  return createFileRegistry(set);
}

function shiftedFile(original: FileDescriptorProto, shift: Shift): FileDescriptorProto {
  const file = clone(FileDescriptorProtoSchema, original);
  const visit = (prefix: string, message: DescriptorProto) => {
    const typeName = `${prefix}.${message.name}`;
    if (message.options?.mapEntry === true) return;
    message.field = message.field.filter((field) => {
      const number = shift.field(typeName, field.name, field.number);
      if (number === undefined) return false;
      field.number = number;
      return true;
    });
    message.nestedType.forEach((nested) => visit(typeName, nested));
    message.enumType.forEach((nested) => visitEnum(typeName, nested));
  };
  const visitEnum = (prefix: string, type: EnumDescriptorProto) => {
    for (const value of type.value) value.number = shift.value(`${prefix}.${type.name}`, value.name, value.number);
    type.value.sort((a, b) => Number(b.number === 0) - Number(a.number === 0));
  };
  file.messageType.forEach((message) => visit(file.package, message));
  file.enumType.forEach((type) => visitEnum(file.package, type));
  return file;
}
