import { type Document, isMap, isScalar, parseDocument, type YAMLMap } from "yaml";
import type { Path } from "./client.ts";

/**
 * A text of YAML with one value set, or taken out where it is undefined. Only the text of the member that holds it is written anew: the rest
 * of the file stays as its owner wrote it.
 */
export function writeYaml(text: string, path: Path, value: unknown): string {
  const document = parseDocument(text);
  const { contents } = document;
  const [member = ""] = path;
  if (contents !== null && (!isMap(contents) || contents.flow === true)) return whole(document, path, value);
  const [start, end] = (contents && rangeOf(contents, member, text)) ?? [text.length, text.length];
  const own = text.slice(start, end);
  if (/[&*]\w/.test(own)) return whole(document, path, value); // an anchor belongs to the whole file
  const part = parseDocument(own);
  const others = part.contents === null || path.length === 1;
  const written = value === undefined && others ? "" : whole(part, path, value);
  const before = text.slice(0, start);
  return `${before}${written === "" || before === "" || before.endsWith("\n") ? "" : "\n"}${written}${text.slice(end)}`;
}

function whole(document: Document, path: Path, value: unknown): string {
  if (value === undefined) document.deleteIn(path);
  else document.setIn(path, document.createNode(value));
  return document.toString({ lineWidth: 0 });
}

/** Where a member of a map stands, its last line with it; undefined if it is not there. */
function rangeOf({ items }: YAMLMap, member: string | number, text: string): readonly [number, number] | undefined {
  const pair = items.find(({ key }) => isScalar(key) && key.value === member);
  const [key, value] = [pair?.key, pair?.value].map((node) => (node as { range?: readonly number[] } | null)?.range); // of a parsed document
  if (key === undefined) return undefined;
  const [start = 0, keyEnd = 0] = key;
  const end = Math.max(keyEnd, value?.[1] ?? 0);
  const lineEnd = text[end - 1] === "\n" ? end : text.indexOf("\n", end) + 1;
  return [start, lineEnd === 0 ? text.length : lineEnd];
}
