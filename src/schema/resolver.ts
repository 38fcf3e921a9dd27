import type { AnyNode } from "acorn";
import type { DefinitionNode } from "./bundle-forms.ts";
import { lastName, returnedBy } from "./literals.ts";
import type { ModuleRequirement, RawBundle, RawEnum, RawMessage, Reference, Scope } from "./raw-bundle.ts";
import { isStandard, wellKnownTypes } from "./well-known.ts";

type Definition = RawMessage | RawEnum;

/** The target of a reference; `guessed` when only its name led to it. */
export interface ResolvedReference {
  readonly typeName: string;
  readonly guessed: boolean;
}

/** Resolves the names in a bundle. */
export interface Resolver {
  /** The type that `node` names, read in `scope` inside message `owner`. */
  typeOf(node: AnyNode, scope: Scope, owner: RawMessage | undefined): ResolvedReference | undefined;
  /** Every message with its type name and its fields, also those whose parts stood apart. */
  readonly messages: readonly RawMessage[];
}

const mostHops = 20;

/**
 * Resolves names as JavaScript does: from the scope outwards, through aliases, getters of namespaces and modules. Where a
 * module cannot be followed, a property's name decides if only one type bears it, or one of the owner's package.
 *
 * Source: docs/dev/wire/extension-bundle.md, "From code to descriptors".
 */
export function createResolver(raw: RawBundle): Resolver {
  const bindings = new Map<Scope, Map<string, Definition[]>>();
  const exportsOf = new Map<Scope, Map<string, Reference>>();
  const namespaces = new Map<Scope, Map<string, ReadonlyMap<string, Reference>>>();

  const bound = (scope: Scope, name: string): Definition[] => {
    const declaring = declaringScope(scope, name);
    const names = bindings.get(declaring) ?? new Map<string, Definition[]>();
    bindings.set(declaring, names);
    const definitions = names.get(name) ?? [];
    names.set(name, definitions);
    return definitions;
  };

  for (const { target, definition } of raw.bindings) {
    if (target.node.type === "Identifier") bound(target.scope, target.node.name).push(definition);
  }
  const messages = [...raw.messages];
  for (const { target, at, part } of raw.parts) {
    const name = nameOf(target.node);
    if (name === undefined) continue;
    const definitions = bound(target.scope, name);
    const open = definitions.find((candidate): candidate is RawMessage => isOpen(candidate, part));
    if (open !== undefined) Object.assign(open, part);
    else {
      const message: RawMessage = { at, ...part };
      definitions.push(message);
      messages.push(message);
    }
  }
  const stars = new Map<Scope, ModuleRequirement[]>();
  for (const { scope, required } of raw.stars) stars.set(scope, [...(stars.get(scope) ?? []), required]);
  for (const { holder, scope, getters } of raw.exports) {
    const functionScope = moduleScope(scope, raw.moduleScopes);
    if (functionScope !== undefined) merge(exportsOf, functionScope, getters);
    if (holder?.node.type === "Identifier") {
      const { name } = holder.node;
      const declaring = declaringScope(holder.scope, name);
      const known = namespaces.get(declaring) ?? new Map<string, ReadonlyMap<string, Reference>>();
      namespaces.set(declaring, known.set(name, new Map([...(known.get(name) ?? []), ...getters])));
    }
  }
  const bySimpleName = simpleNames([
    ...wellKnownTypes,
    ...[...messages, ...raw.enums].flatMap((d) => d.typeName ?? []),
  ]);

  function follow(node: AnyNode, scope: Scope, hops: number): Definition | undefined {
    const { definition } = node as DefinitionNode;
    if (hops > mostHops || definition !== undefined) return definition;
    if (node.type === "Identifier") {
      const declaring = declaringScope(scope, node.name);
      const found = nearest(bindings.get(declaring)?.get(node.name) ?? [], node.start);
      if (found !== undefined) return found;
      const alias = declaring.aliases?.get(node.name) ?? scope.aliases?.get(node.name);
      return alias === undefined ? undefined : follow(alias.node, alias.scope, hops + 1);
    }
    if (node.type !== "MemberExpression" || node.object.type !== "Identifier") return undefined;
    const property = lastName(node) ?? "";
    const { name } = node.object;
    const declaring = declaringScope(scope, name);
    const required = declaring.requires?.get(name);
    const getter =
      (required === undefined ? undefined : exported(required, property, hops)) ??
      namespaces.get(declaring)?.get(name)?.get(property);
    return getter === undefined ? undefined : follow(getter.node, getter.scope, hops + 1);
  }

  /** The export of a module with that name, its own or re-exported from another module. */
  function exported(required: ModuleRequirement, property: string, hops: number): Reference | undefined {
    if (hops > mostHops) return undefined;
    const module = moduleOf(required);
    if (module === undefined) return undefined;
    const own = exportsOf.get(module)?.get(property);
    if (own !== undefined) return own;
    for (const next of stars.get(module) ?? []) {
      const found = exported(next, property, hops + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  function moduleOf(required: ModuleRequirement): Scope | undefined {
    if ("id" in required) return raw.modules.get(required.id);
    const { node, scope } = required.module;
    return node.type === "Identifier" ? declaringScope(scope, node.name).modules?.get(node.name) : undefined;
  }

  return {
    messages,
    typeOf(node, scope, owner) {
      const target = returnedBy(node) ?? node;
      if (target.type === "Identifier" && owner?.innerName === target.name && owner.typeName !== undefined) {
        return { typeName: owner.typeName, guessed: false };
      }
      const typeName = follow(target, scope, 0)?.typeName;
      if (typeName !== undefined) return { typeName, guessed: false };
      const guess = guessed(bySimpleName.get(lastName(target) ?? "") ?? [], owner?.typeName ?? "");
      return guess === undefined ? undefined : { typeName: guess, guessed: !isStandard(guess) };
    },
  };
}

/** The scope that declares a name, or the outermost one. */
function declaringScope(scope: Scope, name: string): Scope {
  let current = scope;
  while (!declares(current, name) && current.parent !== undefined) current = current.parent;
  return current;
}

function declares(scope: Scope, name: string): boolean {
  scope.names ??= new Set(scope.var);
  return scope.names.has(name);
}

function nameOf(node: AnyNode): string | undefined {
  return node.type === "Identifier" ? node.name : undefined;
}

function isOpen(candidate: Definition, part: Pick<RawMessage, "typeName" | "fields">): boolean {
  if ("values" in candidate) return false;
  return part.fields === undefined ? candidate.typeName === undefined : candidate.fields === undefined;
}

/** The module function around a scope. */
function moduleScope(scope: Scope, modules: ReadonlySet<Scope>): Scope | undefined {
  let current: Scope | undefined = scope;
  while (current !== undefined && !modules.has(current)) current = current.parent;
  return current;
}

function merge(into: Map<Scope, Map<string, Reference>>, scope: Scope, getters: ReadonlyMap<string, Reference>): void {
  into.set(scope, new Map([...(into.get(scope) ?? []), ...getters]));
}

/** Of several definitions under one name in one scope, the one nearest in the source. */
function nearest(definitions: readonly Definition[], at: number): Definition | undefined {
  return definitions.toSorted((a, b) => Math.abs(a.at - at) - Math.abs(b.at - at))[0];
}

/** Type names by their form in generated code: `exa.a.Outer.Inner` is `Outer_Inner`, and also `Inner`. */
function simpleNames(typeNames: readonly string[]): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  for (const typeName of typeNames) {
    const segments = typeName.split(".");
    const local = segments.slice(segments.findIndex((segment) => /^[A-Z]/.test(segment)));
    for (const name of new Set([local.join("_"), local.at(-1) ?? ""])) {
      names.set(name, (names.get(name) ?? new Set()).add(typeName));
    }
  }
  return names;
}

function guessed(candidates: Iterable<string>, owner: string): string | undefined {
  const all = [...candidates];
  if (all.length < 2) return all[0];
  const home = all.filter((typeName) => packageOf(typeName) === packageOf(owner));
  return home.length === 1 ? home[0] : undefined;
}

/** The lower-case head of a type name. */
export function packageOf(typeName: string): string {
  const first = /(?:^|\.)[A-Z]/.exec(typeName)?.index ?? typeName.lastIndexOf(".");
  return typeName.slice(0, Math.max(first, 0));
}
