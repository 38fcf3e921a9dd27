import type { DescEnum, DescField, DescFile, DescMessage, DescService } from "@bufbuild/protobuf";

/**
 * The `extension.js` of a build that speaks a schema: what protobuf-es v1 generates, bundled into one function and minified. Files take turns
 * between static members and assignments. Its exports are the classes of the last file. Source: docs/dev/wire/extension-bundle.md.
 */
export function extensionBundle(files: readonly DescFile[]): string {
  const all = files.map((file) => {
    const messages = file.messages.flatMap(withNested);
    return { file, messages, enums: [...file.enums, ...messages.flatMap((message) => message.nestedEnums)] };
  });
  const names = new Map<string, string>();
  for (const { enums, messages } of all)
    for (const type of [...enums, ...messages]) names.set(type.typeName, `$${names.size.toString(36)}`);
  const written = all.flatMap(({ file, messages, enums }, i) => {
    const writer = new Writer(names, i % 2 === 0);
    return [
      ...enums.map((one) => writer.enumeration(one)),
      ...messages.map((one) => writer.message(one)),
      ...file.services.map((one) => writer.service(one)),
    ];
  });
  const exported = all.at(-1)?.messages.map((type) => `${exportName(type)}:${names.get(type.typeName)}`) ?? [];
  const license = "/*! For license information please see extension.js.LICENSE.txt */\n";
  return `${license}(()=>{"use strict";${runtime}${written.join("")}module.exports={${exported.join(",")}}})();\n`;
}

/** The part of the runtime that the generated code names; the real one is a thousand lines more. */
const runtime =
  'const o=new Map,r={Message:class{},proto3:{syntax:"proto3",util:{newFieldList:e=>({list:e}),initPartial(e,t){Object.assign(t,e)},setEnumType(e,t,n){o.set(e,{typeName:t,values:n})}},getEnumType:e=>o.get(e)},MethodKind:{Unary:0,ServerStreaming:1,ClientStreaming:2,BiDiStreaming:3}};';

const methodKinds = {
  unary: "Unary",
  server_streaming: "ServerStreaming",
  client_streaming: "ClientStreaming",
  bidi_streaming: "BiDiStreaming",
} as const;

/** Writes the types of one file: `r` is the runtime. */
class Writer {
  readonly #names: ReadonlyMap<string, string>;
  readonly #staticMembers: boolean;

  constructor(names: ReadonlyMap<string, string>, staticMembers: boolean) {
    this.#names = names;
    this.#staticMembers = staticMembers;
  }

  enumeration(type: DescEnum): string {
    const local = this.#reference(type);
    const members = type.values.map((value) => `e[e.${value.localName}=${value.number}]=${quote(value.localName)}`);
    const values = type.values.map((value) => `{no:${value.number},name:${quote(value.name)}}`);
    return [
      `var ${local};(function(e){${members.join(",")}})(${local}||(${local}={})),`,
      `r.proto3.util.setEnumType(${local},${quote(type.typeName)},[${values.join(",")}]);`,
    ].join("");
  }

  message(type: DescMessage): string {
    const local = this.#reference(type);
    const list = `r.proto3.util.newFieldList(()=>[${type.fields.map((field) => this.#field(field, type)).join(",")}])`;
    const create = "constructor(e){super(),r.proto3.util.initPartial(e,this)}";
    if (this.#staticMembers) {
      const members = `static runtime=r.proto3;static typeName=${quote(type.typeName)};static fields=${list};`;
      return `class ${local} extends r.Message{${create}${members}}`;
    }
    return [
      `var ${local}=class extends r.Message{${create}static fromBinary(e,t){return(new ${local}).fromBinary(e,t)}};`,
      `${local}.runtime=r.proto3,${local}.typeName=${quote(type.typeName)},${local}.fields=${list};`,
    ].join("");
  }

  #field(field: DescField, parent: DescMessage): string {
    const parts = [`no:${field.number}`, `name:${quote(field.name)}`, ...this.#typeOf(field)];
    if (field.fieldKind === "list") parts.push("repeated:!0");
    if (field.oneof !== undefined && parent.oneofs.includes(field.oneof))
      parts.push(`oneof:${quote(field.oneof.name)}`);
    else if (field.proto.proto3Optional) parts.push("opt:!0");
    return `{${parts.join(",")}}`;
  }

  #typeOf(field: DescField): string[] {
    switch (field.fieldKind) {
      case "scalar":
        return ['kind:"scalar"', `T:${field.scalar}`];
      case "message":
        return ['kind:"message"', `T:${this.#reference(field.message)}`];
      case "enum":
        return ['kind:"enum"', `T:r.proto3.getEnumType(${this.#reference(field.enum)})`];
      case "list":
        if (field.listKind === "scalar") return ['kind:"scalar"', `T:${field.scalar}`];
        if (field.listKind === "message") return ['kind:"message"', `T:${this.#reference(field.message)}`];
        return ['kind:"enum"', `T:r.proto3.getEnumType(${this.#reference(field.enum)})`];
      case "map":
        return ['kind:"map"', `K:${field.mapKey}`, `V:${this.#mapValue(field)}`];
      default:
        return field satisfies never;
    }
  }

  #mapValue(field: DescField & { readonly fieldKind: "map" }): string {
    if (field.mapKind === "scalar") return `{kind:"scalar",T:${field.scalar}}`;
    if (field.mapKind === "message") return `{kind:"message",T:${this.#reference(field.message)}}`;
    return `{kind:"enum",T:r.proto3.getEnumType(${this.#reference(field.enum)})}`;
  }

  service(service: DescService): string {
    const methods = service.methods.map((method) => {
      const types = `I:${this.#reference(method.input)},O:${this.#reference(method.output)}`;
      return `${method.localName}:{name:${quote(method.name)},${types},kind:r.MethodKind.${methodKinds[method.methodKind]}}`;
    });
    return `var ${service.name}={typeName:${quote(service.typeName)},methods:{${methods.join(",")}}};`;
  }

  #reference(type: DescMessage | DescEnum): string {
    return this.#names.get(type.typeName) ?? "r"; // protobuf's own types stand in the runtime
  }
}

function withNested(message: DescMessage): DescMessage[] {
  return [message, ...message.nestedMessages.flatMap(withNested)];
}

function exportName(type: DescMessage | DescEnum): string {
  return type.parent === undefined ? type.name : `${exportName(type.parent)}_${type.name}`;
}

function quote(text: string): string {
  return JSON.stringify(text);
}
