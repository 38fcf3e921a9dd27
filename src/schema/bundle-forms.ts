import type { AnyNode, ArrayExpression, ObjectExpression } from "acorn";
import { lastName, lastOf, propertiesOf, returnedBy, stringOf } from "./literals.ts";
import type { ModuleRequirement, RawEnum, RawMessage, Scope } from "./raw-bundle.ts";

/** Nodes that carry the definitions found in them up to the statement that names them. */
export interface DefinitionNode {
  definition?: RawMessage | RawEnum;
  scope?: Scope;
}

/** Whether a statement is kept after parsing its block: it returns a list of fields, or the name of a class made inside. */
export function isKept(statement: AnyNode): boolean {
  if (statement.type !== "ReturnStatement" || statement.argument == null) return false;
  const argument = lastOf(statement.argument);
  const { type } = argument;
  return (
    type === "ArrayExpression" ||
    type === "Identifier" ||
    type === "MemberExpression" ||
    (argument as DefinitionNode).definition !== undefined
  );
}

/** The array of `newFieldList(() => […])`. */
export function fieldList(node: AnyNode | null | undefined): ArrayExpression | undefined {
  if (node?.type !== "CallExpression" || lastName(node.callee) !== "newFieldList") return undefined;
  const [argument] = node.arguments;
  if (argument === undefined) return undefined;
  const list = argument.type === "ArrayExpression" ? argument : returnedBy(argument);
  return list?.type === "ArrayExpression" ? list : undefined;
}

/** `{Note: () => q, …}`: at least one getter, and nothing else. */
export function gettersOf(node: ObjectExpression): Map<string, AnyNode> | undefined {
  const [first] = node.properties;
  if (first?.type !== "Property" || returnedBy(first.value) === undefined) return undefined;
  const getters = new Map<string, AnyNode>();
  for (const [key, value] of propertiesOf(node)) {
    const returned = returnedBy(value);
    if (returned === undefined) return undefined;
    if (isName(returned)) getters.set(key, returned);
  }
  return getters.size === 0 ? undefined : getters;
}

/**
 * `i.d(t, "Note", function () { return q })` and `Object.defineProperty(t, "Note", { get: function () { return q } })`: the exported
 * name and its expression.
 */
export function handedOn(callee: AnyNode, name: AnyNode, value: AnyNode): [string, AnyNode] | undefined {
  const key = stringOf(name);
  const by = lastName(callee);
  if (key === undefined || (by !== "d" && !/^[A-Z]/.test(key))) return undefined; // a bundler shortens names, code does not
  const isDefined = value.type === "ObjectExpression" && by === "defineProperty";
  const getter = isDefined ? propertiesOf(value).get("get") : value;
  const returned = getter === undefined ? undefined : returnedBy(getter);
  return returned !== undefined && isName(returned) ? [key, returned] : undefined;
}

/** `i(99)`, `x()` where `x` is a separate module, and either inside calls that wrap it: `o(i(99), 1)`. */
export function requiredBy(node: AnyNode, scope: Scope): ModuleRequirement | undefined {
  if (node.type !== "CallExpression") return undefined;
  const [first, second] = node.arguments;
  if (first === undefined)
    return node.callee.type === "Identifier" ? { module: { node: node.callee, scope } } : undefined;
  if (first.type === "Literal") {
    const isPlain = second === undefined && node.callee.type === "Identifier";
    return isPlain ? { id: String(first.value) } : undefined;
  }
  return requiredBy(first, scope);
}

/** The scope of a module's function, in the call that turns the function into a module: `v((e, t) => {…})`, `v({"a.js"(e, t) {…}})`. */
export function moduleMadeBy(args: readonly AnyNode[]): Scope | undefined {
  const [first] = args;
  if (first?.type !== "ObjectExpression") return first === undefined ? undefined : (first as DefinitionNode).scope;
  const [property] = first.properties;
  return property?.type === "Property" ? (property.value as DefinitionNode).scope : undefined;
}

function isName(node: AnyNode): boolean {
  return node.type === "Identifier" || node.type === "MemberExpression";
}
