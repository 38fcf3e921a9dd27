import { create } from "@bufbuild/protobuf";
import {
  type EnumDescriptorProto,
  EnumDescriptorProtoSchema,
  EnumValueDescriptorProtoSchema,
  MethodDescriptorProtoSchema,
  type ServiceDescriptorProto,
  ServiceDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import type { AnyNode } from "acorn";
import { lastName, numberOf, propertiesOf, stringOf } from "./literals.ts";
import type { RawEnum, RawService } from "./raw-bundle.ts";
import type { SchemaProblem } from "./read-fields.ts";
import type { Resolver } from "./resolver.ts";

/**
 * An enum's descriptor, the value 0 first as proto3 demands.
 * Source: docs/dev/wire/extension-bundle.md, "From code to descriptors".
 */
export function buildEnum(name: string, raw: RawEnum, problems: SchemaProblem[]): EnumDescriptorProto {
  const values = raw.values.flatMap((value) => {
    if (value === undefined) {
      problems.push({ where: raw.typeName, what: "a value without a number or a name" });
      return [];
    }
    return [create(EnumValueDescriptorProtoSchema, { name: value.name, number: value.number })];
  });
  if (!values.some((value) => value.number === 0)) {
    problems.push({ where: raw.typeName, what: "it has no value 0; one was put in" });
    values.unshift(create(EnumValueDescriptorProtoSchema, { name: `${name.toUpperCase()}_UNSPECIFIED_`, number: 0 }));
  }
  const value = values.toSorted((a, b) => Number(b.number === 0) - Number(a.number === 0));
  const isAliased = new Set(value.map(({ number }) => number)).size < value.length;
  return create(EnumDescriptorProtoSchema, { name, value, ...(isAliased ? { options: { allowAlias: true } } : {}) });
}

/** A service's descriptor. A method whose messages were not found is reported and left out. */
export function buildService(
  name: string,
  raw: RawService,
  resolver: Resolver,
  problems: SchemaProblem[],
): ServiceDescriptorProto {
  const method = [...propertiesOf(raw.methods)].flatMap(([key, node]) => {
    const where = `${raw.typeName}.${key}`;
    const properties = node.type === "ObjectExpression" ? propertiesOf(node) : new Map<string, AnyNode>();
    const typeOf = (side: string) => {
      const type = properties.get(side);
      return type === undefined ? undefined : resolver.typeOf(type, raw.scope, undefined);
    };
    const [input, output] = [typeOf("I"), typeOf("O")];
    const kind = methodKind(properties.get("kind"));
    if (input === undefined || output === undefined || kind === undefined) {
      problems.push({ where, what: "its messages or its kind were not found" });
      return [];
    }
    return [
      create(MethodDescriptorProtoSchema, {
        name: stringOf(properties.get("name")) ?? key.charAt(0).toUpperCase() + key.slice(1),
        inputType: `.${input.typeName}`,
        outputType: `.${output.typeName}`,
        clientStreaming: kind === 2 || kind === 3,
        serverStreaming: kind === 1 || kind === 3,
      }),
    ];
  });
  return create(ServiceDescriptorProtoSchema, { name, method });
}

const methodKinds: readonly string[] = ["Unary", "ServerStreaming", "ClientStreaming", "BiDiStreaming"];

/** `r.MethodKind.Unary`, or the number it is folded to. */
function methodKind(node: AnyNode | undefined): number | undefined {
  const number = numberOf(node) ?? (node === undefined ? -1 : methodKinds.indexOf(lastName(node) ?? ""));
  return number >= 0 && number < methodKinds.length ? number : undefined;
}
