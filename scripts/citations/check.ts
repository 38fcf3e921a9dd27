import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, extname, join, normalize } from "node:path";
import { anchorOf } from "../docs/markdown.ts";

/** Files whose citations are checked: everything that people read, but for generated code and what npm installs. */
const read = [
  "*.{md,ts,cjs,mjs,json}",
  "{src,simulator,test,scripts,bench,web,site,proto,docs,.ci,.github}/**/*.{md,ts,tsx,mjs,cjs,css,html,proto,yml,yaml,sh,py}",
];
const skipped = /(^|\/)node_modules\/|^src\/proto\/|^(?:web|site)\/dist\/|^package-lock\.json$|^scripts\/citations\//;

/** Documents that only their authors can open. */
const outside = /\bfacts\/\w|\b(?:design|style)\.md\b|client-contract\b|\bSource: (?:facts|design|style)\b/;
/** A page, in a comment or in a text that users see. */
const page = /\bdocs\/[\w./-]*?\.md\b/g;
/** `(R15)`, `(G6, G12)`: rows of a page's table. Letters that no page uses, such as `X11`, are something else. */
const rowsCited = /(?<=\s)\(([A-DGHILPR]\d{1,2}(?:\.\d)?(?:, [A-DGHILPR]\d{1,2}(?:\.\d)?)*)\)/g;
const link = /\]\(([^)\s]+)\)/g;
const path = /`((?:src|simulator|test|scripts|bench|docs|web|proto)\/[\w./-]+)`/g;

/** Citations below `root` that lead nowhere, one line each. */
export function checkCitations(root: string): readonly string[] {
  const files = globSync(read, { cwd: root }).filter((file) => !skipped.test(file));
  const pages = new Map<string, Page>();
  const open = (file: string): Page => {
    const known = pages.get(file) ?? readPage(readFileSync(join(root, file), "utf8"));
    pages.set(file, known);
    return known;
  };
  const rows = new Set([...files.filter(isMarkdown).flatMap((file) => [...open(file).rows]), ...promised(root)]);
  const found: string[] = [];
  for (const file of files.toSorted()) {
    const text = readFileSync(join(root, file), "utf8");
    const report = (what: string) => found.push(`${file}: ${what}`);
    if (outside.test(text)) report(`a document outside of the repository: ${outside.exec(text)?.[0] ?? ""}`);
    const flat = joined(text);
    for (const match of flat.matchAll(page)) {
      const cited = match[0];
      if (!existsSync(join(root, cited))) report(`there is no ${cited}`);
      else
        for (const heading of headingsAfter(flat, match.index + cited.length))
          if (!open(cited).headings.has(heading)) report(`${cited} has no heading "${heading}"`);
    }
    if (isMarkdown(file)) for (const problem of checkPage(root, file, text, open)) report(problem);
    else
      for (const [, list = ""] of flat.matchAll(rowsCited))
        for (const row of list.split(", ")) if (!rows.has(row)) report(`no page has a row ${row}`);
  }
  return found;
}

interface Page {
  readonly headings: ReadonlySet<string>;
  readonly anchors: ReadonlySet<string>;
  /** First cells of its tables that look like `R1`. */
  readonly rows: readonly string[];
}

function readPage(text: string): Page {
  const headings = [...withoutFences(text).matchAll(/^#{1,6} (.+?) *$/gm)].map(([, heading = ""]) => heading);
  const rows = [...text.matchAll(/^\| ([A-Z]\d{1,2}(?:(?: – |, )[A-Z]\d{1,2})*) \|/gm)].flatMap(([, cell = ""]) =>
    expand(cell),
  );
  const lastCells = [...text.matchAll(/^\| `\w+` \| ([A-Z]\d{1,2}) \|/gm)].map(([, cell = ""]) => cell);
  return { headings: new Set(headings), anchors: new Set(headings.map(anchorOf)), rows: [...rows, ...lastCells] };
}

/** Ids of the promises that tests hold. */
function promised(root: string): readonly string[] {
  const file = join(root, "test/promises.ts");
  if (!existsSync(file)) return [];
  return [...readFileSync(file, "utf8").matchAll(/^ {4}id: "([^"]+)"/gm)].flatMap(([, id = ""]) => expand(id));
}

/** `H1 – H3, H6` as `H1`, `H2`, `H3`, `H6`. */
function expand(cell: string): readonly string[] {
  return cell.split(", ").flatMap((part) => {
    const [first = "", last = first] = part.split(" – ");
    const [from, to] = [Number(first.slice(1)), Number(last.slice(1))];
    return Array.from({ length: to - from + 1 }, (_, i) => `${first.slice(0, 1)}${from + i}`);
  });
}

/** Comments as one line each, so that a citation may be wrapped. */
function joined(text: string): string {
  return text.replaceAll(/\n[ \t]*(?:\*(?!\/)|\/\/|#)?[ \t]*/g, " ");
}

/** The quoted headings in `docs/page.md, "One", "Two"`. */
function headingsAfter(text: string, index: number): readonly string[] {
  const list = /^(?:(?:,| and) "[^"]+")+/.exec(text.slice(index, index + 400))?.[0] ?? "";
  return [...list.matchAll(/"([^"]+)"/g)].map(([, heading = ""]) => heading);
}

function* checkPage(root: string, file: string, text: string, open: (file: string) => Page): Generator<string> {
  const prose = withoutFences(text);
  for (const [, target = ""] of prose.matchAll(link)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [relative = "", anchor] = target.split("#");
    const to = relative === "" ? file : normalize(join(dirname(file), relative));
    if (!existsSync(join(root, to))) yield `there is no ${target}`;
    else if (anchor !== undefined && isMarkdown(to) && !open(to).anchors.has(anchor))
      yield `${to} has no heading for #${anchor}`;
  }
  for (const [, name = ""] of prose.matchAll(path)) if (!exists(join(root, name))) yield `there is no ${name}`;
}

/** A file, or a folder where the name ends with a slash or has no extension. */
function exists(file: string): boolean {
  return existsSync(file) && (extname(file) !== "" || statSync(file).isDirectory() || statSync(file).isFile());
}

function isMarkdown(file: string): boolean {
  return extname(file) === ".md";
}

function withoutFences(text: string): string {
  return text.replaceAll(/^```[^]*?^```/gm, "");
}

if (process.argv[1] === import.meta.filename) {
  const found = checkCitations(join(import.meta.dirname, "../.."));
  for (const line of found) console.error(`citations: ${line}`);
  if (found.length > 0) process.exitCode = 1;
  else console.log("citations: each one leads to a page, a heading or a row that exists");
}
