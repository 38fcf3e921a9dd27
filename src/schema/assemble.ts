import { create, fromBinary } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FieldDescriptorProto,
  FileDescriptorProtoSchema,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { buildMessage, jsonNameOf } from "./build-messages.ts";
import { buildEnum, buildService } from "./build-services.ts";
import type { RawBundle } from "./raw-bundle.ts";
import { Guesses, readFields, type SchemaProblem } from "./read-fields.ts";
import { createResolver, packageOf } from "./resolver.ts";
import { splitFiles, type TopLevel } from "./split-files.ts";
import { isStandard, standardFile, standardFiles } from "./well-known.ts";

/** A schema as read, with the parts that could not be read. */
export interface ReadSchema {
  readonly set: FileDescriptorSet;
  readonly problems: readonly SchemaProblem[];
}

type Proto = TopLevel["proto"];
type NamedProto = Omit<TopLevel, "uses">;

/**
 * Makes descriptors from the parts found in a bundle. Of two definitions of one name the first is used.
 *
 * Source: docs/dev/wire/extension-bundle.md, "From code to descriptors".
 */
export function assembleSchema(raw: RawBundle): ReadSchema {
  const problems: SchemaProblem[] = [];
  const guesses = new Guesses();
  const resolver = createResolver(raw);
  const found: NamedProto[] = [];
  for (const message of resolver.messages) {
    const { typeName } = message;
    if (typeName === undefined || message.fields === undefined || isStandard(typeName)) continue;
    const proto = buildMessage(simpleName(typeName), typeName, readFields(message, resolver, problems, guesses));
    found.push({ typeName, kind: "message", proto });
  }
  problems.push(...guesses.problems());
  for (const definition of raw.enums) {
    const { typeName } = definition;
    if (isStandard(typeName)) continue;
    found.push({ typeName, kind: "enum", proto: buildEnum(simpleName(typeName), definition, problems) });
  }
  for (const service of raw.services) {
    const { typeName } = service;
    found.push({ typeName, kind: "service", proto: buildService(simpleName(typeName), service, resolver, problems) });
  }
  for (const encoded of raw.fileDescriptors) found.push(...typesOfFile(encoded, problems));
  const topLevels = nest(
    withoutDoubles(
      found.filter(({ typeName }) => isTypeName(typeName, problems)),
      problems,
    ),
    problems,
  );
  const types = topLevels.map((type): TopLevel => ({ ...type, uses: usesOf(type.proto) }));
  const files = splitFiles(types, standardFile);
  const standard = standardFiles(new Set(files.flatMap((file) => file.dependency)));
  return { set: create(FileDescriptorSetSchema, { file: [...standard, ...files] }), problems };
}

/** `exa.a_pb.Outer.Inner`, and nothing that would not be a name in protobuf. */
function isTypeName(typeName: string, problems: SchemaProblem[]): boolean {
  const isName = /^(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*$/.test(typeName) && typeName.length < 512;
  if (!isName) problems.push({ where: typeName.slice(0, 80), what: "it is not the name of a type" });
  return isName;
}

function simpleName(typeName: string): string {
  return typeName.slice(typeName.lastIndexOf(".") + 1);
}

function withoutDoubles(types: readonly NamedProto[], problems: SchemaProblem[]): readonly NamedProto[] {
  const first = new Map<string, NamedProto>();
  for (const type of types) {
    const known = first.get(type.typeName);
    if (known === undefined) first.set(type.typeName, type);
    else if (JSON.stringify(known.proto) !== JSON.stringify(type.proto)) {
      problems.push({ where: type.typeName, what: "it is defined twice, differently; the first one stands" });
    }
  }
  return [...first.values()];
}

/** Puts nested types into the types that hold them. */
function nest(types: readonly NamedProto[], problems: SchemaProblem[]): readonly NamedProto[] {
  const byName = new Map(types.map((type) => [type.typeName, type]));
  const topLevels: NamedProto[] = [];
  for (const type of types) {
    const holder = type.typeName.slice(0, type.typeName.lastIndexOf("."));
    if (holder.length <= packageOf(type.typeName).length) {
      topLevels.push(type);
      continue;
    }
    const parent = byName.get(holder);
    if (parent?.kind !== "message" || type.kind === "service") {
      problems.push({ where: type.typeName, what: "the message it is nested in was not found" });
      continue;
    }
    const message = parent.proto as DescriptorProto; // as `kind` says
    if (type.kind === "message") message.nestedType.push(type.proto as DescriptorProto);
    else message.enumType.push(type.proto as EnumDescriptorProto); // as above
  }
  return topLevels;
}

/** Top-level names of everything that a type refers to. */
function usesOf(proto: Proto): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (message: DescriptorProto) => {
    for (const field of message.field) if (field.typeName !== "") names.add(topLevelOf(field.typeName));
    for (const nested of message.nestedType) visit(nested);
  };
  if (proto.$typeName === "google.protobuf.DescriptorProto") visit(proto);
  if (proto.$typeName === "google.protobuf.ServiceDescriptorProto") {
    for (const method of proto.method) names.add(topLevelOf(method.inputType)).add(topLevelOf(method.outputType));
  }
  return names;
}

function topLevelOf(typeName: string): string {
  const name = typeName.replace(/^\./, "");
  const package_ = packageOf(name);
  const first = name.slice(package_.length).replace(/^\./, "").split(".")[0] ?? "";
  return package_ === "" ? first : `${package_}.${first}`;
}

/** The types of a serialized file, as protobuf-es 2 embeds it: without imports and without derivable JSON names. */
function typesOfFile(encoded: string, problems: SchemaProblem[]): readonly NamedProto[] {
  try {
    const file = fromBinary(FileDescriptorProtoSchema, base64Decode(encoded));
    if (isStandard(`${file.package}.`)) return [];
    if (file.syntax !== "proto3") throw new Error("not proto3");
    for (const message of file.messageType) restoreJsonNames(message);
    const named =
      (kind: TopLevel["kind"]) =>
      (proto: Proto): NamedProto => {
        return { typeName: file.package === "" ? proto.name : `${file.package}.${proto.name}`, kind, proto };
      };
    return [
      ...file.messageType.map(named("message")),
      ...file.enumType.map(named("enum")),
      ...file.service.map(named("service")),
    ];
  } catch {
    problems.push({ where: `${encoded.slice(0, 24)}…`, what: "an embedded file descriptor cannot be read" });
    return [];
  }
}

function restoreJsonNames(message: DescriptorProto): void {
  const restore = (field: FieldDescriptorProto) => {
    if (field.jsonName === "") field.jsonName = jsonNameOf(field.name);
  };
  message.field.forEach(restore);
  message.nestedType.forEach(restoreJsonNames);
}
