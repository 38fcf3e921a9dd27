import type { DescFile } from "@bufbuild/protobuf";
import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import {
  file_google_protobuf_any,
  file_google_protobuf_descriptor,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
} from "@bufbuild/protobuf/wkt";

const files: readonly DescFile[] = [
  file_google_protobuf_timestamp,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_struct,
  file_google_protobuf_any,
  file_google_protobuf_field_mask,
  file_google_protobuf_wrappers,
  file_google_protobuf_descriptor,
];

const fileByType: ReadonlyMap<string, DescFile> = new Map(
  files.flatMap((file) => [...file.messages, ...file.enums].map((type) => [type.typeName, file] as const)),
);

/** Names of types that every protobuf library brings along: `google.protobuf.Timestamp`. */
export const wellKnownTypes: readonly string[] = [...fileByType.keys()];

/** Whether a type is protobuf's own and not the bundle's to define. */
export function isStandard(typeName: string): boolean {
  return typeName.startsWith("google.protobuf.");
}

/** The file that defines a well-known type, by its import path. */
export function standardFile(typeName: string): string | undefined {
  return fileByType.get(typeName)?.proto.name;
}

/** The descriptors of well-known files that `paths` name. */
export function standardFiles(paths: ReadonlySet<string>): readonly FileDescriptorProto[] {
  return files.filter((file) => paths.has(file.proto.name)).map((file) => file.proto);
}
