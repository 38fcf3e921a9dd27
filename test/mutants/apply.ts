import ts from "typescript";

/** A place in a file of source text: the code that stands once in a function. */
export interface Place {
  /** Names of the functions and classes around it, outermost first: `Runner.#step`. Empty for code outside of any function. */
  readonly in: string;
  /** A condition, an expression or statements. Layout, comments and trailing commas do not count. */
  readonly code: string;
}

interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The source with `becomes` at the place; `$&` in it stands for what was there. Throws when the place is not there once. */
export function applied(source: string, { in: name, code }: Place, becomes: string): string {
  const file = ts.createSourceFile("mutated.ts", source, ts.ScriptTarget.Latest, true);
  const wanted = tokensOf(ts.createSourceFile("code.ts", code, ts.ScriptTarget.Latest, true));
  const found = functionsNamed(file, name).flatMap((scope) => occurrences(tokensOf(scope), wanted));
  const [place, another] = found;
  if (place === undefined || another !== undefined)
    throw new Error(`\`${code}\` stands ${found.length} times in \`${name}\``);
  const was = source.slice(place.start, place.end);
  return source.slice(0, place.start) + becomes.replaceAll("$&", () => was) + source.slice(place.end);
}

/** What has this name. An overload has more than one. */
function functionsNamed(file: ts.SourceFile, name: string): ts.Node[] {
  const found: ts.Node[] = name === "" ? [file] : [];
  const visit = (node: ts.Node, path: readonly string[]) => {
    const own = nameOf(node);
    const here = own === undefined ? path : [...path, own];
    if (own !== undefined && here.join(".") === name) found.push(node);
    ts.forEachChild(node, (child) => visit(child, here));
  };
  visit(file, []);
  return found;
}

function nameOf(node: ts.Node): string | undefined {
  if (ts.isConstructorDeclaration(node)) return "constructor";
  const isNamed = ts.isClassDeclaration(node) || ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node);
  const isFunction = (value: ts.Expression | undefined) =>
    value !== undefined && (ts.isArrowFunction(value) || ts.isFunctionExpression(value));
  const holdsFunction =
    (ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node) || ts.isPropertyDeclaration(node)) &&
    isFunction(node.initializer);
  if (isNamed || holdsFunction || ts.isGetAccessor(node)) return node.name?.getText();
  return undefined;
}

function tokensOf(node: ts.Node): Token[] {
  const all: Token[] = [];
  const visit = (part: ts.Node) => {
    if (ts.isJSDoc(part)) return;
    const parts = part.getChildren();
    if (parts.length > 0) parts.forEach(visit);
    else if (part.getText() !== "") all.push({ text: part.getText(), start: part.getStart(), end: part.getEnd() });
  };
  visit(node);
  return all.filter(({ text }, n) => text !== "," || !/^[)\]}]$/.test(all[n + 1]?.text ?? ""));
}

function occurrences(tokens: readonly Token[], wanted: readonly Token[]): readonly { start: number; end: number }[] {
  return tokens.flatMap(({ start }, n) => {
    const end = tokens[n + wanted.length - 1]?.end;
    return end !== undefined && wanted.every(({ text }, k) => tokens[n + k]?.text === text) ? [{ start, end }] : [];
  });
}
