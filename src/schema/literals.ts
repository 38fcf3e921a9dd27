import type { AnyNode, ObjectExpression } from "acorn";

/** A constant as minifiers write it: `1`, `-1`, `"a"`, a template without holes, `!0`, `!1`, `true`. */
export function constantOf(node: AnyNode | null | undefined): string | number | boolean | undefined {
  if (node?.type === "Literal") {
    const { value } = node;
    return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : undefined;
  }
  if (node?.type === "TemplateLiteral") {
    return node.expressions.length === 0 ? (node.quasis[0]?.value.cooked ?? undefined) : undefined;
  }
  if (node?.type !== "UnaryExpression") return undefined;
  const inner = constantOf(node.argument);
  if (node.operator === "!") return inner === undefined ? undefined : !inner;
  return node.operator === "-" && typeof inner === "number" ? -inner : undefined;
}

export function stringOf(node: AnyNode | null | undefined): string | undefined {
  const value = constantOf(node);
  return typeof value === "string" ? value : undefined;
}

export function numberOf(node: AnyNode | null | undefined): number | undefined {
  const value = constantOf(node);
  return typeof value === "number" ? value : undefined;
}

/** The values of an object's plain properties, by key. */
export function propertiesOf(node: ObjectExpression): Map<string, AnyNode> {
  const properties = new Map<string, AnyNode>();
  for (const property of node.properties) {
    if (property.type !== "Property" || property.computed) continue;
    const key = propertyKeyOf(property.key);
    if (key !== undefined) properties.set(key, property.value);
  }
  return properties;
}

/** A property's name: `a`, `"a"`, `1`. */
export function propertyKeyOf(key: AnyNode): string | undefined {
  if (key.type === "Identifier") return key.name;
  const value = constantOf(key);
  return value === undefined ? undefined : String(value);
}

/** The last name in a member expression or an identifier: `a.b.newFieldList` → `newFieldList`. */
export function lastName(node: AnyNode): string | undefined {
  if (node.type === "Identifier") return node.name;
  if (node.type === "SequenceExpression") return lastName(lastOf(node));
  if (node.type !== "MemberExpression") return undefined;
  return node.computed ? stringOf(node.property) : node.property.type === "Identifier" ? node.property.name : undefined;
}

/** The expression that a function returns without using its arguments: `() => x`, `function () { return x }`. */
export function returnedBy(node: AnyNode): AnyNode | undefined {
  if (node.type !== "ArrowFunctionExpression" && node.type !== "FunctionExpression") return undefined;
  if (node.body.type !== "BlockStatement") return lastOf(node.body);
  const last = node.body.body.findLast((statement) => statement.type === "ReturnStatement");
  return last?.argument == null ? undefined : lastOf(last.argument);
}

/** The value of `a, b, c`, which minifiers make of statements. */
export function lastOf(node: AnyNode): AnyNode {
  return node.type === "SequenceExpression" ? (node.expressions.at(-1) ?? node) : node;
}
