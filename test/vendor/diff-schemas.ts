import type { DescField, DescFile, DescMessage, FileRegistry } from "@bufbuild/protobuf";

/** One thing that differs between two builds. */
export interface SchemaChange {
  /** Full name: `exa.cortex_pb.CascadeConfig.hooks`, `exa.x_pb.Service.Method`. */
  readonly name: string;
  readonly what: "message" | "field" | "enum" | "value" | "service" | "method";
  readonly change: "added" | "removed" | "moved" | "changed";
  /** Number or type before and after, for what moved or changed; after, for what was added. */
  readonly before?: string;
  readonly after?: string;
}

/** A name with its number and its other properties. */
interface Entry {
  readonly what: SchemaChange["what"];
  readonly number: number | undefined;
  readonly type: string;
}

/** The changes from one build to another, by full name, sorted by name. The content of a new message or enum is not listed, nor that of a removed one. */
export function diffSchemas(before: FileRegistry, after: FileRegistry): readonly SchemaChange[] {
  const old = entriesOf(before);
  const now = entriesOf(after);
  const changes: SchemaChange[] = [];
  for (const [name, entry] of old) {
    const next = now.get(name);
    if (next === undefined || next.what !== entry.what) {
      if (holderStays(name, entry, now))
        changes.push({ name, what: entry.what, change: "removed", before: said(entry) });
      continue;
    }
    const both = { before: said(entry), after: said(next) };
    if (entry.type !== next.type) changes.push({ name, what: entry.what, change: "changed", ...both });
    else if (entry.number !== next.number) changes.push({ name, what: entry.what, change: "moved", ...both });
  }
  for (const [name, entry] of now) {
    const isNew = old.get(name)?.what !== entry.what;
    if (isNew && holderStays(name, entry, old))
      changes.push({ name, what: entry.what, change: "added", after: said(entry) });
  }
  return changes.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.change < b.change ? -1 : 1));
}

function holderStays(name: string, entry: Entry, other: ReadonlyMap<string, Entry>): boolean {
  const isPart = entry.what === "field" || entry.what === "value" || entry.what === "method";
  return !isPart || other.has(name.slice(0, name.lastIndexOf(".")));
}

function said({ number, type }: Entry): string {
  return [type, number === undefined ? "" : `= ${number}`].filter((part) => part !== "").join(" ");
}

function entriesOf(registry: FileRegistry): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  const visit = (holder: DescFile | DescMessage) => {
    for (const message of holder.kind === "file" ? holder.messages : holder.nestedMessages) {
      entries.set(message.typeName, { what: "message", number: undefined, type: "" });
      for (const field of message.fields) {
        entries.set(`${message.typeName}.${field.name}`, {
          what: "field",
          number: field.number,
          type: fieldType(field),
        });
      }
      visit(message);
    }
    for (const type of holder.kind === "file" ? holder.enums : holder.nestedEnums) {
      entries.set(type.typeName, { what: "enum", number: undefined, type: "" });
      for (const { name, number } of type.values)
        entries.set(`${type.typeName}.${name}`, { what: "value", number, type: "" });
    }
  };
  for (const file of registry.files) {
    if (file.proto.package.startsWith("google.protobuf")) continue;
    visit(file);
    for (const service of file.services) {
      entries.set(service.typeName, { what: "service", number: undefined, type: "" });
      for (const method of service.methods) {
        const type = `${method.methodKind} (${method.input.typeName}) → (${method.output.typeName})`;
        entries.set(`${service.typeName}.${method.name}`, { what: "method", number: undefined, type });
      }
    }
  }
  return entries;
}

const scalarWords: readonly string[] = [
  "",
  "double",
  "float",
  "int64",
  "uint64",
  "int32",
  "fixed64",
  "fixed32",
  "bool",
  "string",
  "",
  "",
  "bytes",
  "uint32",
  "",
  "sfixed32",
  "sfixed64",
  "sint32",
  "sint64",
];

/** The type of a field as `.proto` files write it: `repeated string`, `map<string, exa.a_pb.B>`, `optional bool`. */
function fieldType(field: DescField): string {
  const inner = field.message?.typeName ?? field.enum?.typeName ?? scalarWords[field.scalar ?? 0] ?? "";
  if (field.fieldKind === "map") return `map<${scalarWords[field.mapKey]}, ${inner}>`;
  if (field.fieldKind === "list") return `repeated ${inner}`;
  return field.proto.proto3Optional ? `optional ${inner}` : inner;
}
