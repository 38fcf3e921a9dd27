import type { DescEnum, DescFile, DescMessage, DescOneof, DescService } from "@bufbuild/protobuf";
import { fieldType } from "./diff.ts";

/** A file as `.proto` text that protobuf compilers take. Type names are written in full, with a dot before them. */
export function protoText(file: DescFile): string {
  const { proto } = file;
  const sections = [
    ['syntax = "proto3";', ...(proto.package === "" ? [] : ["", `package ${proto.package};`])],
    proto.dependency.toSorted((a, b) => (a < b ? -1 : 1)).map((path) => `import "${path}";`),
    ...file.messages.map(messageLines),
    ...file.enums.map(enumLines),
    ...file.services.map(serviceLines),
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n")}\n`;
}

function messageLines(message: DescMessage): string[] {
  const body = [
    ...message.members.flatMap((member) => (member.kind === "oneof" ? oneofLines(member) : [fieldLine(member)])),
    ...message.nestedMessages.flatMap((nested) => messageLines(nested)),
    ...message.nestedEnums.flatMap((nested) => enumLines(nested)),
  ];
  return block(`message ${message.name}`, body);
}

function oneofLines(oneof: DescOneof): string[] {
  return block(`oneof ${oneof.name}`, oneof.fields.map(fieldLine));
}

function fieldLine(field: DescMessage["fields"][number]): string {
  const type = fieldType(field).replaceAll(/(?<=^|[ <])([a-zA-Z_]\w*\.[\w.]+)(?=$|[ >])/g, ".$1");
  const options =
    field.proto.options?.packed === false && isPackable(field) && !field.packed ? " [packed = false]" : "";
  return `${rooted(type, field)} ${field.name} = ${field.number}${options};`;
}

/** A type of no package has no dot inside: it gets its leading one here. */
function rooted(type: string, field: DescMessage["fields"][number]): string {
  const name = field.message?.typeName ?? field.enum?.typeName;
  return name === undefined || name.includes(".")
    ? type
    : type.replace(new RegExp(`(?<=^|[ <])${name}(?=$|[ >])`), `.${name}`);
}

function isPackable(
  field: DescMessage["fields"][number],
): field is DescMessage["fields"][number] & { readonly packed: boolean } {
  return field.fieldKind === "list";
}

function enumLines(type: DescEnum): string[] {
  const isAliased = new Set(type.values.map((value) => value.number)).size < type.values.length;
  return block(`enum ${type.name}`, [
    ...(isAliased ? ["option allow_alias = true;"] : []),
    ...type.values.map((value) => `${value.name} = ${value.number};`),
  ]);
}

function serviceLines(service: DescService): string[] {
  return block(
    `service ${service.name}`,
    service.methods.map((method) => {
      const side = (isStream: boolean, typeName: string) => `(${isStream ? "stream " : ""}.${typeName})`;
      const kind = method.methodKind;
      const input = side(kind === "client_streaming" || kind === "bidi_streaming", method.input.typeName);
      const output = side(kind === "server_streaming" || kind === "bidi_streaming", method.output.typeName);
      return `rpc ${method.name}${input} returns ${output};`;
    }),
  );
}

function block(head: string, body: readonly string[]): string[] {
  return body.length === 0 ? [`${head} {}`] : [`${head} {`, ...body.map((line) => `  ${line}`), "}"];
}
