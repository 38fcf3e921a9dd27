import { ScalarType } from "@bufbuild/protobuf";
import { type AnyNode, type ObjectExpression, parseExpressionAt } from "acorn";
import { type BuildField, type BuildTypes, ourTypes, unreadable } from "./build-types.ts";

/** The words with which generated code names a type, since no minifier renames them, and what stands between each and the name. */
const words: Readonly<Record<string, RegExp>> = {
  typeName: /["'`]?\s*[=,]\s*(["'`])([\w.]+)\1/y, // the message's list of fields follows
  "makeMessageType(": /\s*(["'`])([\w.]+)\1\s*,/y,
  "makeEnum(": /\s*(["'`])([\w.]+)\1\s*,/y,
  "setEnumType(": /[^"'`(){}]{1,80},\s*(["'`])([\w.]+)\1\s*,/y,
};
const fieldList = "newFieldList(";
/** A list begins at most so far behind the name of its message, and is no longer than the second number, in characters. */
const [nearest, longest] = [2_000, 500_000];

/**
 * Reads the types that we use from an IDE's `extension.js`: their lists of fields and values, where the generated code names them. The
 * rest of the file is not parsed.
 *
 * @throws MillraceError `invalid_request`: none of them is in it, or a list that cannot be read (cut off, most of the time).
 * Source: docs/dev/wire/extension-bundle.md.
 */
export async function readBundle(source: string): Promise<BuildTypes> {
  let lists = 0;
  const kinds = new Map(ourTypes().map(({ typeName, kind }) => [typeName, kind]));
  const messages = new Map<string, ReadonlyMap<string, BuildField>>();
  const enums = new Map<string, ReadonlyMap<string, number>>();
  for (const [word, naming] of Object.entries(words)) {
    for (let at = source.indexOf(word); at >= 0; at = source.indexOf(word, at + word.length)) {
      naming.lastIndex = at + word.length;
      const typeName = naming.exec(source)?.[2] ?? "";
      const kind = kinds.get(typeName);
      if (kind === undefined || messages.has(typeName) || enums.has(typeName)) continue; // the first definition stands
      const list = word === "typeName" ? listBehind(source, naming.lastIndex) : naming.lastIndex;
      const entries = list === undefined ? undefined : listAt(source, list, typeName);
      if (entries === undefined) continue;
      if (++lists % 16 === 0) await new Promise((resolve) => setImmediate(resolve)); // answers go on meanwhile
      if (kind === "message") messages.set(typeName, fieldsOf(entries));
      else enums.set(typeName, new Map(entries.map((entry) => [stringOf(entry["name"]), numberOf(entry["no"])])));
    }
  }
  if (messages.size === 0) throw unreadable("there are no protobuf messages in it");
  return { messages, enums };
}

/** Where the list of a message's fields begins, whose name ends here; undefined if another type is named first. */
function listBehind(source: string, from: number): number | undefined {
  const text = source.slice(from, from + nearest);
  const at = text.indexOf(fieldList);
  const other = text.indexOf("typeName");
  return at < 0 || (other >= 0 && other < at) ? undefined : from + at + fieldList.length;
}

type Entry = Readonly<Record<string, AnyNode>>;

/** The objects of a list, which may stand in a function; undefined for something else. */
function listAt(source: string, at: number, typeName: string): readonly Entry[] | undefined {
  let node: AnyNode;
  try {
    node = parseExpressionAt(source.slice(at, at + longest), 0, {
      ecmaVersion: "latest",
      allowReturnOutsideFunction: true,
    });
  } catch (cause) {
    throw unreadable(
      `the list of ${typeName} is not JavaScript (${cause instanceof Error ? cause.message : ""})`,
      cause,
    );
  }
  if (node.type === "SequenceExpression") node = node.expressions[0] ?? node; // further arguments follow the list
  if (node.type === "ArrowFunctionExpression" || node.type === "FunctionExpression") node = node.body;
  if (node.type === "BlockStatement") {
    const [first] = node.body;
    if (first?.type === "ReturnStatement" && first.argument != null) node = first.argument;
  }
  if (node.type !== "ArrayExpression") return undefined;
  return node.elements.flatMap((element) => (element?.type === "ObjectExpression" ? [entryOf(element)] : []));
}

function entryOf(node: ObjectExpression): Entry {
  return Object.fromEntries(
    node.properties.flatMap((property) =>
      property.type === "Property" && property.key.type === "Identifier" ? [[property.key.name, property.value]] : [],
    ),
  );
}

/** The fields with a number and a name; of two with one name the first. */
function fieldsOf(entries: readonly Entry[]): ReadonlyMap<string, BuildField> {
  const fields = new Map<string, BuildField>();
  for (const entry of entries) {
    const [name, number] = [stringOf(entry["name"]), numberOf(entry["no"])];
    const isNumber = Number.isInteger(number) && number >= 1 && number <= 536_870_911;
    if (name === "" || !isNumber || fields.has(name)) continue;
    const value = entry["V"]?.type === "ObjectExpression" ? entryOf(entry["V"]) : entry;
    const inner = stringOf(value["kind"]) === "scalar" ? scalarOf(value["T"]) : stringOf(value["kind"]);
    const isList = constantOf(entry["repeated"]) === true;
    const type = value === entry ? inner : `map<${scalarOf(entry["K"])}, ${inner}>`;
    fields.set(name, { number, type: isList ? `repeated ${type}` : type });
  }
  return fields;
}

/** A scalar type by its number, or by the name of a constant: `r.ScalarType.STRING`. */
function scalarOf(node: AnyNode | undefined): string {
  if (node?.type === "MemberExpression" && node.property.type === "Identifier") return node.property.name;
  return ScalarType[numberOf(node)] ?? "";
}

function stringOf(node: AnyNode | undefined): string {
  const value = constantOf(node);
  return typeof value === "string" ? value : "";
}

function numberOf(node: AnyNode | undefined): number {
  const value = constantOf(node);
  return typeof value === "number" ? value : Number.NaN;
}

/** A constant as minifiers write it: `1`, `-1`, `"a"`, a template without holes, `!0`, `!1`. */
function constantOf(node: AnyNode | undefined): unknown {
  if (node?.type === "Literal") return node.value;
  if (node?.type === "TemplateLiteral") return node.expressions.length === 0 ? node.quasis[0]?.value.cooked : undefined;
  if (node?.type !== "UnaryExpression") return undefined;
  const inner = constantOf(node.argument);
  return node.operator === "!" ? !inner : node.operator === "-" ? -Number(inner) : undefined;
}
