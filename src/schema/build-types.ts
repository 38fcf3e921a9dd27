import { type DescEnum, type DescField, type DescFile, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { MillraceError } from "../base/errors.ts";
import { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";

/** A field of a build: its number, and a word for its type on the wire. Fields can be the same only if their words are equal. */
export interface BuildField {
  readonly number: number;
  readonly type: string;
}

/** What a build says of the types that Millrace uses, each by its full name. */
export interface BuildTypes {
  readonly messages: ReadonlyMap<string, ReadonlyMap<string, BuildField>>;
  readonly enums: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** Our own schema: each file after those that it imports, without Google's. */
export function ourFiles(file: DescFile = LanguageServerService.file, seen = new Set<DescFile>()): readonly DescFile[] {
  if (seen.has(file) || file.proto.package.startsWith("google.protobuf")) return [];
  seen.add(file);
  return [...file.dependencies.flatMap((dependency) => ourFiles(dependency, seen)), file];
}

/** The messages and enums of our schema, nested ones too. */
export function ourTypes(): readonly (DescMessage | DescEnum)[] {
  const within = (holder: DescFile | DescMessage): readonly (DescMessage | DescEnum)[] => {
    const messages = holder.kind === "file" ? holder.messages : holder.nestedMessages;
    const enums = holder.kind === "file" ? holder.enums : holder.nestedEnums;
    return [...messages, ...messages.flatMap(within), ...enums];
  };
  return ourFiles().flatMap(within);
}

/** The word for the type of a field of ours. */
export function wireType(field: DescField): string {
  const scalar = (type: ScalarType) => ScalarType[type] ?? "";
  const inner = field.message !== undefined ? "message" : field.enum !== undefined ? "enum" : scalar(field.scalar ?? 0);
  if (field.fieldKind === "map") return `map<${scalar(field.mapKey)}, ${inner}>`;
  return field.fieldKind === "list" ? `repeated ${inner}` : inner;
}

export function unreadable(why: string, cause?: unknown): MillraceError {
  return new MillraceError("invalid_request", `The extension's bundle cannot be read: ${why}.`, {
    hint: "Check that the file is the whole `extension.js` of the IDE; an update may be under way.",
    cause,
  });
}
