import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "rolldown/parseAst";

/** What the chunk of that name can load, at once or later: other chunks by file name, everything else as it is written. */
export function loads(folder: string, entry: string): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [entry];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const specifier of specifiersOf(readFileSync(join(folder, name), "utf8"))) {
      const target = specifier.startsWith("./") ? specifier.slice(2) : specifier;
      if (!found.has(target) && specifier.startsWith("./")) open.push(target);
      found.add(target);
    }
  }
  return found;
}

function specifiersOf(code: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { type, source } = node as { readonly type?: unknown; readonly source?: { readonly value?: unknown } | null }; // any ESTree node
    if (/^(Import|Export).*(Declaration|Expression)$/.test(String(type)) && typeof source?.value === "string")
      found.push(source.value);
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseAst(code));
  return found;
}
