import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { publicEntries } from "./bundle/bundle.ts";

/**
 * What the entries of the package export, one line for each name and each member of a type of ours. `npm run generate -- api` writes it, so a
 * change of what users may import is a change of a file that a reviewer reads.
 */
export function apiReport(root: string, entries: Readonly<Record<string, string>>): string {
  const read = ts.readConfigFile(join(root, "tsconfig.json"), (file) => ts.sys.readFile(file));
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, root);
  const program = ts.createProgram({ rootNames: Object.values(entries).map((entry) => join(root, entry)), options });
  const checker = program.getTypeChecker();
  const told = (type: ts.Type) => checker.typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation);
  return Object.entries(entries)
    .flatMap(([name, entry]) => [`# ${name}`, ...linesOf(entry), ""])
    .join("\n");

  function linesOf(entry: string): readonly string[] {
    const file = program.getSourceFile(join(root, entry));
    const module = file === undefined ? undefined : checker.getSymbolAtLocation(file);
    if (module === undefined) throw new Error(`${entry} exports nothing`);
    const exported = checker.getExportsOfModule(module).map((symbol) => ({ name: symbol.name, of: resolved(symbol) }));
    return exported
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap(({ name, of }) => [
        ...((of.flags & ts.SymbolFlags.Value) === 0 ? [] : [`${name}: ${told(checker.getTypeOfSymbol(of))}`]),
        ...((of.flags & ts.SymbolFlags.Type) === 0 ? [] : membersOf(name, checker.getDeclaredTypeOfSymbol(of))),
      ]);
  }

  function membersOf(name: string, type: ts.Type): readonly string[] {
    if (!type.isClassOrInterface() && (type.flags & ts.TypeFlags.Object) === 0) return [`type ${name} = ${told(type)}`];
    const members = checker
      .getPropertiesOfType(type)
      .filter(isOurs)
      .map((member) => {
        const mark = (member.flags & ts.SymbolFlags.Optional) === 0 ? "" : "?";
        return `  ${name}.${member.name}${mark}: ${told(checker.getTypeOfSymbol(member))}`;
      });
    return [`type ${name}`, ...members.toSorted()];
  }

  function isOurs(member: ts.Symbol): boolean {
    if (member.name.startsWith("__")) return false; // private, or under a symbol
    return (member.declarations ?? []).some((each) =>
      /^(src|simulator)\b/.test(relative(root, each.getSourceFile().fileName)),
    );
  }

  function resolved(symbol: ts.Symbol): ts.Symbol {
    return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
  }
}

if (process.argv[1] === import.meta.filename) {
  const root = join(import.meta.dirname, "..");
  writeFileSync(join(root, "scripts/public-api.txt"), apiReport(root, publicEntries));
}
