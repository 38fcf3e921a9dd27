import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { checkCitations } from "./check.ts";

test("every citation of this repository leads to something that exists", () => {
  expect(checkCitations(join(import.meta.dirname, "../.."))).toEqual([]);
});

describe("a citation is reported", () => {
  let root = "";
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "millrace-citations-"));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const write = (files: Readonly<Record<string, string>>) => {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), text);
    }
  };

  it.each([
    ["of a page that does not exist", "/** Source: docs/none.md. */", "there is no docs/none.md"],
    ["of a heading that is not on its page", '// docs/a.md, "Nowhere"', 'docs/a.md has no heading "Nowhere"'],
    [
      "of a second heading that is not there, over a line break",
      '/**\n * Source: docs/a.md, "First part",\n * "Nowhere".\n */',
      'docs/a.md has no heading "Nowhere"',
    ],
    ["of a row that no table has", "// it ends (R7, R9)", "no page has a row R9"],
    ["of a document outside", "// Source: facts/wire.md", "a document outside of the repository: Source: facts"],
  ])("%s", (_, comment, problem) => {
    write({ "docs/a.md": "# A\n\n## First part\n\n| R6 – R8 | rows |\n", "src/a.ts": `${comment}\n` });
    expect(checkCitations(root)).toEqual([`src/a.ts: ${problem}`]);
  });

  it.each([
    ["to a file that does not exist", "[x](none.md)", "there is no none.md"],
    ["to an anchor that does not exist", "[x](b.md#nowhere)", "docs/b.md has no heading for #nowhere"],
    ["to an anchor that does not exist on its own page", "[x](#nowhere)", "docs/a.md has no heading for #nowhere"],
    ["as a path of a source that does not exist", "`src/none.ts`", "there is no src/none.ts"],
  ])("%s, as a link of a page", (_, text, problem) => {
    write({ "docs/a.md": `# A\n\n${text}\n`, "docs/b.md": "# B\n" });
    expect(checkCitations(root)).toEqual([`docs/a.md: ${problem}`]);
  });

  it("not when it leads somewhere", () => {
    write({
      "docs/a.md":
        "# A\n\n## What `it` does, and why\n\n[x](#what-it-does-and-why) [y](../src/a.ts) [z](https://x.example/#a)\n\n| H1 |\n",
      "src/a.ts": '/** Ends (H1). Source: docs/a.md, "A",\n * "What `it` does, and why"; docs/a.md. */\n',
    });
    expect(checkCitations(root)).toEqual([]);
  });
});
