import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import type { ErrorCode } from "../../src/base/errors.ts";

/** A message that users can see, as the source has it; `…` stands for what is known only when it happens. */
export interface ErrorMessage {
  readonly code: ErrorCode;
  readonly message: string;
  /** Undefined where the code's own hint is shown. */
  readonly hint: string | undefined;
  readonly file: string;
}

const files = "src/**/*.ts";
const skipped = /\.(?:test|fake|conformance)\.ts$|^src\/(?:simulator|proto)\//;

/** Only a file that has one of these words can make an error; the others are not parsed. */
const makesErrors = /MillraceError|ErrorCode|turnFailure|refusal/;

/** Functions that make an error: which argument is its message and its hint, and its code where that is fixed. */
const makers: Readonly<Record<string, { readonly code?: ErrorCode; readonly message: number; readonly hint: number }>> =
  {
    MillraceError: { message: 1, hint: 2 },
    refusal: { message: 2, hint: 3 },
    turnFailure: { code: "upstream_failed", message: 0, hint: 1 },
    silence: { code: "upstream_timeout", message: 0, hint: 1 },
    failed: { code: "upstream_failed", message: 0, hint: 1 },
  };

/** Every error that the sources below `root` can show, by file. A message that only its caller knows is left out. */
export function errorMessages(root: string, codes: ReadonlySet<string>): readonly ErrorMessage[] {
  return globSync(files, { cwd: root })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => !skipped.test(file))
    .toSorted()
    .map((file) => ({ file, source: readFileSync(join(root, file), "utf8") }))
    .filter(({ source }) => makesErrors.test(source))
    .flatMap(({ file, source }) => messagesIn(file, source, codes));
}

/** The errors of one file, in its order. */
export function messagesIn(file: string, source: string, codes: ReadonlySet<string>): readonly ErrorMessage[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const declared = declarationsOf(tree);
  const found: ErrorMessage[] = [];
  const add = (code: string | undefined, message: ts.Expression | undefined, hint: ts.Expression | undefined) => {
    if (code === undefined || message === undefined || !codes.has(code)) return;
    const [said] = textsOf(hintOf(hint, declared), declared);
    for (const text of textsOf(message, declared))
      if (/[a-z]{3}/i.test(text)) found.push({ code: code as ErrorCode, message: text, hint: said, file }); // it is one of `codes`
  };
  const visit = (node: ts.Node): void => {
    if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && ts.isIdentifier(node.expression)) {
      const call = Object.hasOwn(makers, node.expression.text) ? makers[node.expression.text] : undefined;
      const given = node.arguments ?? [];
      if (call !== undefined) add(call.code ?? textsOf(given[0], declared)[0], given[call.message], given[call.hint]);
    }
    if (ts.isObjectLiteralExpression(node))
      add(textsOf(property(node, "code"), declared)[0], property(node, "message"), property(node, "hint"));
    node.forEachChild(visit);
  };
  visit(tree);
  return found;
}

type Declared = ReadonlyMap<string, readonly Declaration[]>;

/** What a name stands for, and the part of the file in which it does. */
interface Declaration {
  readonly scope: ts.Node;
  readonly values: readonly ts.Expression[];
}

/** Constants, parameters and functions of the file by name. A parameter stands for nothing that the file says. */
function declarationsOf(tree: ts.SourceFile): Declared {
  const declared = new Map<string, Declaration[]>();
  const add = (name: string, scope: ts.Node, values: readonly ts.Expression[]) =>
    void declared.set(name, [...(declared.get(name) ?? []), { scope, values }]);
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined)
      add(node.name.text, scopeOf(node), [node.initializer]);
    if (ts.isParameter(node) && ts.isIdentifier(node.name)) add(node.name.text, node.parent, []);
    if (ts.isFunctionDeclaration(node) && node.name !== undefined) add(node.name.text, scopeOf(node), returnedBy(node));
    node.forEachChild(visit);
  };
  visit(tree);
  return declared;
}

function scopeOf({ parent }: ts.Node): ts.Node {
  return ts.isBlock(parent) || ts.isSourceFile(parent) || ts.isFunctionLike(parent) ? parent : scopeOf(parent);
}

/** What the name stands for where it is used: by its nearest declaration. */
function valuesOf(name: ts.Identifier, declared: Declared): readonly ts.Expression[] {
  const known = declared.get(name.text) ?? [];
  for (let node: ts.Node = name; !ts.isSourceFile(node); node = node.parent) {
    const here = known.find(({ scope }) => scope === node.parent);
    if (here !== undefined) return here.values;
  }
  return [];
}

function returnedBy(node: ts.FunctionDeclaration): readonly ts.Expression[] {
  const returned: ts.Expression[] = [];
  const visit = (inner: ts.Node): void => {
    if (ts.isReturnStatement(inner) && inner.expression !== undefined) returned.push(inner.expression);
    inner.forEachChild(visit);
  };
  node.body?.forEachChild(visit);
  return returned;
}

/** The texts that an expression can be; none where the file alone does not say. */
function textsOf(node: ts.Expression | undefined, declared: Declared): readonly string[] {
  if (node === undefined) return [];
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node.text];
  if (ts.isTemplateExpression(node))
    return [node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join("")];
  if (ts.isParenthesizedExpression(node)) return textsOf(node.expression, declared);
  if (ts.isConditionalExpression(node))
    return [...textsOf(node.whenTrue, declared), ...textsOf(node.whenFalse, declared)];
  if (ts.isIdentifier(node)) return valuesOf(node, declared).flatMap((value) => textsOf(value, declared));
  if (ts.isCallExpression(node) && ts.isIdentifier(node.expression))
    return valuesOf(node.expression, declared).flatMap((value) => textsOf(value, declared));
  return [];
}

/** The hint, given as a text or as a member of the options. */
function hintOf(node: ts.Expression | undefined, declared: Declared): ts.Expression | undefined {
  if (node === undefined || !ts.isObjectLiteralExpression(node)) return node;
  const hint = property(node, "hint");
  if (hint === undefined) return undefined;
  return ts.isIdentifier(hint) ? (valuesOf(hint, declared)[0] ?? hint) : hint;
}

function property(node: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  for (const member of node.properties) {
    if (ts.isPropertyAssignment(member) && member.name.getText() === name) return member.initializer;
    if (ts.isShorthandPropertyAssignment(member) && member.name.text === name) return member.name;
  }
  return undefined;
}
