import { create } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  type ServiceDescriptorProto,
} from "@bufbuild/protobuf/wkt";
import { packageOf } from "./resolver.ts";

/** A type at the top of a file, with all that is nested in it. */
export interface TopLevel {
  readonly typeName: string;
  readonly kind: "message" | "enum" | "service";
  readonly proto: DescriptorProto | EnumDescriptorProto | ServiceDescriptorProto;
  /** Top-level type names it refers to. */
  readonly uses: ReadonlySet<string>;
}

interface PlacedDefinition extends TopLevel {
  readonly package: string;
}

/**
 * Puts types into files: one for each package, because a bundle has no other hint. Types of two packages may refer to each other
 * in a circle, but files may not: such packages get several files, the lowest first.
 *
 * @param standardFile the file of a type that is not among `types`: a well-known one.
 */
export function splitFiles(
  types: readonly TopLevel[],
  standardFile: (typeName: string) => string | undefined,
): readonly FileDescriptorProto[] {
  const byName = new Map(types.map((type) => [type.typeName, { ...type, package: packageOf(type.typeName) }]));
  const layers = layersOf(byName);
  const fileOf = (type: PlacedDefinition) => fileName(type.package, layers.get(type.typeName) ?? 0);
  const files = new Map<string, FileDescriptorProto>();
  for (const type of byName.values()) {
    const name = fileOf(type);
    const file =
      files.get(name) ?? create(FileDescriptorProtoSchema, { name, package: type.package, syntax: "proto3" });
    files.set(name, file);
    if (type.kind === "message")
      file.messageType.push(type.proto as DescriptorProto); // as `kind` says
    else if (type.kind === "enum")
      file.enumType.push(type.proto as EnumDescriptorProto); // as above
    else file.service.push(type.proto as ServiceDescriptorProto); // as above
    for (const used of type.uses) {
      const target = byName.get(used);
      const dependency = target === undefined ? standardFile(used) : fileOf(target);
      if (dependency !== undefined && dependency !== name && !file.dependency.includes(dependency))
        file.dependency.push(dependency);
    }
  }
  return importsFirst(files);
}

/** Every file after those it imports, as readers of a set expect. */
function importsFirst(files: ReadonlyMap<string, FileDescriptorProto>): readonly FileDescriptorProto[] {
  const ordered = new Set<FileDescriptorProto>();
  const visiting = new Set<string>();
  const visit = (name: string) => {
    const file = files.get(name);
    if (file === undefined || visiting.has(name)) return; // a circle that is left is reported when the set is read
    visiting.add(name);
    file.dependency.forEach(visit);
    ordered.add(file);
  };
  for (const name of files.keys()) visit(name);
  return [...ordered];
}

function fileName(package_: string, layer: number): string {
  return `${package_.replaceAll(".", "/") || "root"}${layer === 0 ? "" : `.${layer}`}.proto`;
}

/**
 * How many times the way down from a type leaves its package and comes back into one that it has left: 0 for all types
 * where packages do not refer to each other in a circle.
 */
function layersOf(byName: ReadonlyMap<string, PlacedDefinition>): ReadonlyMap<string, number> {
  const knots = knotsOf(packageGraph(byName));
  const layers = new Map<string, number>();
  for (let changed = true, rounds = 0; changed && rounds <= byName.size; rounds++) {
    changed = false;
    for (const type of byName.values()) {
      for (const used of type.uses) {
        const other = byName.get(used)?.package;
        if (other === undefined || knots.get(type.package) !== knots.get(other)) continue;
        const least = (layers.get(used) ?? 0) + (type.package === other ? 0 : 1);
        if ((layers.get(type.typeName) ?? 0) >= least) continue;
        layers.set(type.typeName, least);
        changed = true;
      }
    }
  }
  return layers;
}

function packageGraph(byName: ReadonlyMap<string, PlacedDefinition>): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const type of byName.values()) {
    const uses = graph.get(type.package) ?? new Set();
    graph.set(type.package, uses);
    for (const used of type.uses) {
      const other = byName.get(used)?.package;
      if (other !== undefined && other !== type.package) uses.add(other);
    }
  }
  return graph;
}

/** Which packages refer to each other in a circle: equal values. (Everything reachable both ways; packages are few.) */
function knotsOf(graph: ReadonlyMap<string, ReadonlySet<string>>): ReadonlyMap<string, string> {
  const reach = new Map([...graph.keys()].map((name) => [name, reachable(graph, name)]));
  const names = [...graph.keys()].sort();
  const isKnot = (a: string, b: string) => a === b || (reach.get(a)?.has(b) === true && reach.get(b)?.has(a) === true);
  return new Map(names.map((name) => [name, names.find((other) => isKnot(name, other)) ?? name]));
}

function reachable(graph: ReadonlyMap<string, ReadonlySet<string>>, from: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = [...(graph.get(from) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...(graph.get(next) ?? []));
  }
  return seen;
}
