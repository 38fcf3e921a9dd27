import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/temporary.ts";
import { deadLinks } from "./built-links.ts";
import { brokenInPackage } from "./packaged-links.ts";

const root = join(import.meta.dirname, "../..");

test("every link of a page in the package leads to a file in the package", () => {
  const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly files: string[] };
  const left = files.filter((file) => file.startsWith("!")).map((file) => `${file.slice(1)}/`);
  const packaged = [...files.filter((file) => !/^!|^dist$/.test(file)), "README.md", "LICENSE", "package.json"]
    .flatMap((file) =>
      statSync(join(root, file)).isFile()
        ? [file]
        : globSync(`${file}/**/*.*`, { cwd: root }).map((path) => path.replaceAll("\\", "/")),
    )
    .filter((file) => !left.some((folder) => file.startsWith(folder)));
  expect(packaged.filter((file) => file.endsWith(".md")).length).toBeGreaterThan(10);
  expect(brokenInPackage(root, packaged)).toEqual([]);
});

test("a link that leaves the package is named", () => {
  const folder = pages({
    "README.md": "[a](pages/a.md#b) [b](src/b.ts) [c](https://c.example)",
    "pages/a.md": "[r](../README.md)",
  });
  expect(brokenInPackage(folder, ["README.md", "pages/a.md"])).toEqual([
    "README.md links to src/b.ts, which is not in the package",
  ]);
});

test("links of built pages that lead to no file and to no anchor are named", () => {
  const folder = pages({
    "index.html":
      '<a href="/pages/a.html#one">a</a> <a href="pages/a#two">b</a> <img src="/no.png"> <a href="https://c.example">c</a>',
    "pages/a.html": '<h2 id="one">One</h2> <a href="/">start</a> <a href="#three">c</a>',
  });
  expect(deadLinks(folder)).toEqual({
    pages: 2,
    links: 5,
    dead: [
      "index.html: pages/a.html has no anchor #two",
      "index.html: there is no /no.png",
      "pages/a.html: pages/a.html has no anchor #three",
    ],
  });
});

function pages(texts: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "pages"));
  for (const [file, text] of Object.entries(texts)) writeFileSync(join(folder, file), text);
  return folder;
}
