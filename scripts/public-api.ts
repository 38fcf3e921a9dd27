import { join, relative } from "node:path";
import ts from "typescript";

/**
 * What an entry of the package shows and does not export: a named type of ours in the signature of something exported, and
 * `MillraceError` where functions are exported that may throw it. One line for each.
 */
export function hiddenNames(root: string, entries: readonly string[]): readonly string[] {
  const read = ts.readConfigFile(join(root, "tsconfig.json"), (file) => ts.sys.readFile(file));
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, root);
  const program = ts.createProgram({ rootNames: entries.map((entry) => join(root, entry)), options });
  const checker = program.getTypeChecker();
  return entries.flatMap((entry) => hiddenIn(entry));

  function hiddenIn(entry: string): readonly string[] {
    const file = program.getSourceFile(join(root, entry));
    const module = file === undefined ? undefined : checker.getSymbolAtLocation(file);
    if (module === undefined) return [`${entry}: exports nothing`];
    const exported = new Set(checker.getExportsOfModule(module).map(resolved));
    const hidden = new Set<string>();
    for (const symbol of exported)
      for (const declaration of ownDeclarations(symbol))
        visit(declaration, (name) => {
          const used = checker.getSymbolAtLocation(name);
          const type = used === undefined ? undefined : resolved(used);
          if (type === undefined || exported.has(type) || ownDeclarations(type).length === 0) return;
          if (isAliased(name) && ownDeclarations(type).every(computes)) return;
          hidden.add(`${entry}: ${symbol.name} shows ${type.name}, which is not exported`);
        });
    const names = new Set([...exported].map(({ name }) => name));
    const functions = [...exported].some(({ flags }) => (flags & ts.SymbolFlags.Function) !== 0);
    if (functions && !names.has("MillraceError")) hidden.add(`${entry}: MillraceError is thrown and not exported`);
    return [...hidden];
  }

  function resolved(symbol: ts.Symbol): ts.Symbol {
    return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
  }

  /** Declarations in `src` or `simulator` at the top of a file: a type parameter is not exported. */
  function ownDeclarations(symbol: ts.Symbol): readonly ts.Declaration[] {
    return (symbol.declarations ?? []).filter(
      (declaration) =>
        !ts.isTypeParameterDeclaration(declaration) &&
        !ts.isSourceFile(declaration) &&
        /^(src|simulator)\b/.test(relative(root, declaration.getSourceFile().fileName)),
    );
  }
}

/** Calls `found` with each name of a type, or of a value whose type is taken, in the signature of a declaration. */
function visit(node: ts.Node, found: (name: ts.Node) => void): void {
  if (ts.isBlock(node) || isUnreachable(node)) return;
  if (ts.isTypeReferenceNode(node)) found(node.typeName);
  if (ts.isExpressionWithTypeArguments(node)) found(node.expression);
  if (ts.isTypeQueryNode(node) && !isAliased(node)) found(node.exprName);
  if (ts.isVariableDeclaration(node) && node.type !== undefined) {
    visit(node.type, found);
    return;
  }
  if (ts.isVariableDeclaration(node)) return;
  node.forEachChild((child) => visit(child, found));
}

/** `type Id = Branded<"id">`: a helper that makes a type, as a function makes a value. */
function computes(declaration: ts.Declaration): boolean {
  return ts.isTypeAliasDeclaration(declaration) && declaration.typeParameters !== undefined;
}

/** A private member, one under a symbol, which code outside cannot name, or one that the published types leave out. */
function isUnreachable(node: ts.Node): boolean {
  const isInternal = ts.getJSDocTags(node).some(({ tagName }) => tagName.text === "internal");
  const isPrivate = ts.isClassElement(node) && node.name !== undefined && ts.isPrivateIdentifier(node.name);
  return isInternal || isPrivate || (ts.isPropertySignature(node) && ts.isComputedPropertyName(node.name));
}

/** `type Options = z.input<typeof schema>` is the name of what it takes from a value. */
function isAliased(node: ts.Node): boolean {
  return (
    ts.isTypeAliasDeclaration(node) || (!ts.isSourceFile(node) && node.parent !== undefined && isAliased(node.parent))
  );
}
