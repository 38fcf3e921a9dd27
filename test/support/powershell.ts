import { fileURLToPath } from "node:url";
import { Language, type Node, Parser } from "web-tree-sitter";

const file = (name: string) => fileURLToPath(import.meta.resolve(name));
let parser: Parser | undefined;

/** What a real grammar of PowerShell finds wrong in a script, each part with its line; nothing if it is a script. */
export async function powershellErrors(script: string): Promise<readonly string[]> {
  if (parser === undefined) {
    await Parser.init();
    parser = new Parser();
    parser.setLanguage(await Language.load(file("tree-sitter-powershell/tree-sitter-powershell.wasm")));
  }
  const tree = parser.parse(script);
  if (tree === null) throw new Error("the grammar gave no tree");
  return errorsBelow(tree.rootNode);
}

function errorsBelow(node: Node): readonly string[] {
  if (!node.hasError) return [];
  if (node.isMissing || node.isError) return [`${node.startPosition.row + 1}: ${node.text.slice(0, 60) || node.type}`];
  return node.children.flatMap((child) => (child === null ? [] : errorsBelow(child)));
}
