import { clone, create, createFileRegistry, type DescFile, type FileRegistry } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { file_windsurf_exa_language_server } from "../../src/proto/windsurf/exa/language_server_pb.ts";

/** The language server's own schema: every file, after those it needs. */
export function schemaFiles(): readonly DescFile[] {
  return withDependencies(file_windsurf_exa_language_server);
}

/**
 * The schema of the language server with its field numbers permuted within each message, as a build does that renumbers
 * them; names, types and the set of numbers stay. The same seed gives the same schema.
 */
export function shiftedSchema(seed: number): FileRegistry {
  const protos = schemaFiles().map(({ proto }) => (proto.package.startsWith("exa.") ? shifted(proto, seed) : proto));
  return createFileRegistry(create(FileDescriptorSetSchema, { file: protos }));
}

/** Each file once, after those it needs. */
function withDependencies(file: DescFile, seen = new Set<string>()): DescFile[] {
  if (seen.has(file.proto.name)) return [];
  seen.add(file.proto.name);
  return [...file.dependencies.flatMap((dependency) => withDependencies(dependency, seen)), file];
}

function shifted(file: FileDescriptorProto, seed: number): FileDescriptorProto {
  const copy = clone(FileDescriptorProtoSchema, file);
  for (const message of copy.messageType) permute(message, `${copy.package}.${message.name}`, seed);
  return copy;
}

function permute(message: DescriptorProto, name: string, seed: number): void {
  for (const nested of message.nestedType) permute(nested, `${name}.${nested.name}`, seed);
  if (message.options?.mapEntry === true) return; // key and value of a map are 1 and 2 in every schema
  const random = randomOf(seed, name);
  const numbers = message.field.map((field) => field.number);
  for (let i = numbers.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [numbers[i], numbers[j]] = [numbers[j] ?? 0, numbers[i] ?? 0]; // both are places of the list
  }
  message.field.forEach((field, i) => {
    field.number = numbers[i] ?? field.number;
  });
}

/** Numbers from 0 to 1 that depend on the seed and a name alone (FNV-1a for the start, mulberry32 for the rest). */
function randomOf(seed: number, name: string): () => number {
  let state = 0x811c9dc5 ^ seed;
  for (const character of name) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
