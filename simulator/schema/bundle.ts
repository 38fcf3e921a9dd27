import type { DescEnum, DescField, DescFile, DescMessage, DescService } from "@bufbuild/protobuf";
import { ShortNames } from "./short-names.ts";

/**
 * The `extension.js` of a build that speaks a schema: what protobuf-es v1 generates, bundled and minified. Every file of
 * the schema is a module function of its own in which short names mean other things; classes of another module are
 * reached through its import. A file comes after those it needs. Modules take turns between static members and assignments. Source:
 * docs/dev/wire/extension-bundle.md.
 */
export function extensionBundle(files: readonly DescFile[]): string {
  const ids = new Map(files.map((file, i) => [file.name, 4200 + i * 7]));
  const modules = files.map((file, i) => {
    const id = ids.get(file.name) ?? 0;
    return `${id}:(e,t,n)=>{${new ModuleWriter(file, ids, i % 2 === 0).write()}}`;
  });
  const entry = files.at(-1);
  return [
    "/*! For license information please see extension.js.LICENSE.txt */\n",
    "(()=>{var e={",
    `${runtimeId}:(e,t)=>{"use strict";Object.defineProperty(t,"__esModule",{value:!0});${runtime}},`,
    modules.join(","),
    "},t={};function n(r){var o=t[r];if(void 0!==o)return o.exports;var i=t[r]={exports:{}};",
    "return e[r].call(i.exports,i,i.exports,n),i.exports}",
    `var r=n(${entry === undefined ? runtimeId : (ids.get(entry.name) ?? runtimeId)});module.exports=r})();\n`,
  ].join("");
}

const runtimeId = 1009;

/** The part of the runtime that the generated code names; the real one is a thousand lines more. */
const runtime =
  'class r{constructor(){}}t.Message=r;const o=new Map;t.proto3={syntax:"proto3",util:{newFieldList:e=>({list:e}),initPartial(e,t){Object.assign(t,e)},setEnumType(e,t,n){o.set(e,{typeName:t,values:n})}},getEnumType:e=>o.get(e)},t.MethodKind={Unary:0,ServerStreaming:1,ClientStreaming:2,BiDiStreaming:3};';

const methodKinds = {
  unary: "Unary",
  server_streaming: "ServerStreaming",
  client_streaming: "ClientStreaming",
  bidi_streaming: "BiDiStreaming",
} as const;

/** One file of the schema as one module function: `e` is the module, `t` its exports, `n` what imports others. */
class ModuleWriter {
  readonly #file: DescFile;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #staticMembers: boolean;
  readonly #names = new ShortNames(["e", "t", "n", "r"]);
  readonly #local = new Map<string, string>();
  readonly #imports = new Map<string, string>();

  constructor(file: DescFile, ids: ReadonlyMap<string, number>, staticMembers: boolean) {
    this.#file = file;
    this.#ids = ids;
    this.#staticMembers = staticMembers;
  }

  write(): string {
    const messages = this.#file.messages.flatMap(withNested);
    const enums = [...this.#file.enums, ...messages.flatMap((message) => message.nestedEnums)];
    for (const type of [...enums, ...messages]) this.#local.set(type.typeName, this.#names.next());
    const body = [
      ...enums.map((one) => this.#enum(one)),
      ...messages.map((one) => this.#message(one)),
      ...this.#file.services.map((one) => this.#service(one)),
    ];
    const imports = [...this.#imports].map(([name, local]) => `,${local}=n(${this.#ids.get(name) ?? runtimeId})`);
    return `"use strict";Object.defineProperty(t,"__esModule",{value:!0});const r=n(${runtimeId})${imports.join("")};${body.join("")}`;
  }

  #enum(type: DescEnum): string {
    const local = this.#localOf(type.typeName);
    const members = type.values.map((value) => `e[e.${value.localName}=${value.number}]=${quote(value.localName)}`);
    const values = type.values.map((value) => `{no:${value.number},name:${quote(value.name)}}`);
    return [
      `var ${local};(function(e){${members.join(",")}})(${local}||(t.${exportName(type)}=${local}={})),`,
      `r.proto3.util.setEnumType(${local},${quote(type.typeName)},[${values.join(",")}]);`,
    ].join("");
  }

  #message(type: DescMessage): string {
    const local = this.#localOf(type.typeName);
    const list = `r.proto3.util.newFieldList(()=>[${type.fields.map((field) => this.#field(field, type)).join(",")}])`;
    const create = "constructor(e){super(),r.proto3.util.initPartial(e,this)}";
    if (this.#staticMembers) {
      const members = `static runtime=r.proto3;static typeName=${quote(type.typeName)};static fields=${list};`;
      return `class ${local} extends r.Message{${create}${members}}t.${exportName(type)}=${local};`;
    }
    return [
      `var ${local}=class extends r.Message{${create}static fromBinary(e,t){return(new ${local}).fromBinary(e,t)}};`,
      `t.${exportName(type)}=${local},${local}.runtime=r.proto3,${local}.typeName=${quote(type.typeName)},${local}.fields=${list};`,
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

  #service(service: DescService): string {
    const methods = service.methods.map((method) => {
      const types = `I:${this.#reference(method.input)},O:${this.#reference(method.output)}`;
      return `${method.localName}:{name:${quote(method.name)},${types},kind:r.MethodKind.${methodKinds[method.methodKind]}}`;
    });
    return `t.${service.name}={typeName:${quote(service.typeName)},methods:{${methods.join(",")}}};`;
  }

  /** A class of this module by its short name, one of another through its import. */
  #reference(type: DescMessage | DescEnum): string {
    const local = this.#local.get(type.typeName);
    if (local !== undefined) return local;
    const from = this.#imports.get(type.file.name) ?? this.#names.next();
    this.#imports.set(type.file.name, from);
    return `${from}.${exportName(type)}`;
  }

  #localOf(typeName: string): string {
    return this.#local.get(typeName) ?? "r";
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
