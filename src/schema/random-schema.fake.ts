import { create, createFileRegistry, type DescFile } from "@bufbuild/protobuf";
import {
  EnumDescriptorProtoSchema,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_duration,
  file_google_protobuf_timestamp,
  MethodDescriptorProtoSchema,
  ServiceDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import * as fc from "fast-check";
import { buildMessage } from "./build-messages.ts";
import { scalarNumbers } from "./raw-field.ts";
import type { FieldType, ReadField } from "./read-fields.ts";

const { DOUBLE, FLOAT, BYTES, STRING } = FieldDescriptorProto_Type;
const mapKeys = scalarNumbers.filter((scalar) => scalar !== DOUBLE && scalar !== FLOAT && scalar !== BYTES);
const packages = ["exa.alpha_pb", "exa.beta_pb", "gamma"];

const drawnField = fc.record({
  shape: fc.constantFrom("plain", "plain", "list", "unpacked", "map", "optional", "oneof"),
  kind: fc.constantFrom("scalar", "message", "enum", "standard"),
  scalar: fc.constantFrom(...scalarNumbers),
  key: fc.constantFrom(...mapKeys),
  target: fc.nat(),
  gap: fc.integer({ min: 1, max: 40 }),
  word: fc.constantFrom("user_id", "title", "a", "url_2fa", "x_y_z", "is_on", "model_uid", "data"),
});
const drawnMessage = fc.record({
  fields: fc.array(drawnField, { maxLength: 7 }),
  nested: fc.nat(2),
  nestedEnum: fc.boolean(),
});
const drawnFile = fc.record({
  package: fc.constantFrom(...packages),
  messages: fc.array(drawnMessage, { minLength: 1, maxLength: 3 }),
  enums: fc.array(fc.array(fc.integer({ min: 1, max: 900 }), { maxLength: 4 }), { maxLength: 2 }),
  methods: fc.array(fc.record({ input: fc.nat(), output: fc.nat(), kind: fc.nat(3) }), { maxLength: 3 }),
});
type DrawnField = typeof drawnField extends fc.Arbitrary<infer T> ? T : never;

/**
 * Random proto3 schemas: every kind of field, nesting, well-known types, services; several files a package, so that packages
 * may refer to each other in a circle while files do not.
 */
export const randomSchema: fc.Arbitrary<readonly DescFile[]> = fc
  .array(drawnFile, { minLength: 1, maxLength: 4 })
  .map((drawn) => {
    const messages: string[] = [];
    const enums: string[] = [];
    const files = drawn.map((file, f) => {
      const proto = create(FileDescriptorProtoSchema, { name: `f${f}.proto`, package: file.package, syntax: "proto3" });
      proto.dependency = ["google/protobuf/timestamp.proto", "google/protobuf/duration.proto"];
      for (let other = 0; other < f; other++) proto.dependency.push(`f${other}.proto`);
      const own: { readonly typeName: string; readonly fields: readonly DrawnField[]; readonly nested: boolean }[] = [];
      file.enums.forEach((numbers, e) => {
        enums.push(`${file.package}.Enum${f}x${e}`);
        proto.enumType.push(enumProto(`Enum${f}x${e}`, numbers));
      });
      file.messages.forEach((message, m) => {
        const typeName = `${file.package}.Message${f}x${m}`;
        own.push({ typeName, fields: message.fields, nested: false });
        messages.push(typeName);
        for (let n = 0; n < message.nested; n++) {
          own.push({ typeName: `${typeName}.Inner${n}`, fields: message.fields.slice(n), nested: true });
          messages.push(`${typeName}.Inner${n}`);
        }
        if (message.nestedEnum) enums.push(`${typeName}.Mood`);
      });
      for (const { typeName, fields, nested } of own) {
        const name = typeName.slice(typeName.lastIndexOf(".") + 1);
        const built = buildMessage(name, typeName, fieldsOf(fields, messages, enums));
        if (enums.includes(`${typeName}.Mood`)) built.enumType.push(enumProto("Mood", [1, 2]));
        if (nested) proto.messageType.at(-1)?.nestedType.push(built);
        else proto.messageType.push(built);
      }
      const method = file.methods.map(({ input, output, kind }, i) =>
        create(MethodDescriptorProtoSchema, {
          name: `DoThing${i}`,
          inputType: `.${pick(messages, input)}`,
          outputType: `.${pick(messages, output)}`,
          clientStreaming: kind > 1,
          serverStreaming: kind % 2 === 1,
        }),
      );
      if (method.length > 0) proto.service.push(create(ServiceDescriptorProtoSchema, { name: `Service${f}`, method }));
      return proto;
    });
    const standard = [file_google_protobuf_timestamp.proto, file_google_protobuf_duration.proto];
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [...standard, ...files] }));
    return [...registry.files].filter((file) => !file.proto.package.startsWith("google."));
  });

function fieldsOf(drawn: readonly DrawnField[], messages: readonly string[], enums: readonly string[]): ReadField[] {
  let number = 0;
  return drawn.map((field, i) => {
    number += field.gap;
    const type = typeOf(field, messages, enums);
    const isNumeric =
      type.kind === "enum" || (type.kind === "scalar" && type.scalar !== STRING && type.scalar !== BYTES);
    return {
      number: number < 19_000 ? number : number + 1_000,
      name: `${field.word}_${i}`,
      jsonName: undefined,
      type,
      mapKey: field.shape === "map" ? field.key : undefined,
      repeated: field.shape === "list" || field.shape === "unpacked",
      packed: field.shape === "unpacked" && isNumeric ? false : undefined,
      optional: field.shape === "optional",
      oneof: field.shape === "oneof" ? `choice_${field.gap % 2}` : undefined,
    };
  });
}

function typeOf(field: DrawnField, messages: readonly string[], enums: readonly string[]): FieldType {
  if (field.kind === "message") return { kind: "message", typeName: pick(messages, field.target) };
  if (field.kind === "enum" && enums.length > 0) return { kind: "enum", typeName: pick(enums, field.target) };
  if (field.kind === "standard") {
    return {
      kind: "message",
      typeName: field.target % 2 === 0 ? "google.protobuf.Timestamp" : "google.protobuf.Duration",
    };
  }
  return { kind: "scalar", scalar: field.scalar };
}

function pick(names: readonly string[], at: number): string {
  return names[at % names.length] ?? "";
}

function enumProto(name: string, numbers: readonly number[]) {
  const values = [0, ...new Set(numbers)].map((number) => ({ name: `${name.toUpperCase()}_V${number}`, number }));
  return create(EnumDescriptorProtoSchema, { name, value: values });
}
