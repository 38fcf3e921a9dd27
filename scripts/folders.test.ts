import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

/** Folders of `src` and `simulator` with files of their own, but for recorded inputs and what is generated below `src/proto`. */
function foldersOfTree(): readonly string[] {
  const files = globSync("{src,simulator}/**/*.{ts,tsx}", { cwd: root });
  const folders = new Set(files.map((file) => `${dirname(file)}/`));
  return [...folders]
    .filter((folder) => !/\/fixtures\/|^src\/proto\/.|^src\/$/.test(folder))
    .toSorted((a, b) => a.localeCompare(b, "en"));
}

function foldersOfPage(): readonly string[] {
  const pages = ["architecture", "folders"].map((page) => readFileSync(join(root, `docs/${page}.md`), "utf8"));
  return [...pages.join("\n").matchAll(/^\| `((?:src|simulator)\/(?:[\w-]+\/)*)` \| ([^|]+) \|/gm)]
    .map(([, folder = "", words = ""]) => (words.trim() === "" ? `${folder} without words` : folder))
    .filter((folder) => folder !== "src/proto/")
    .toSorted((a, b) => a.localeCompare(b, "en"));
}

test("each folder of src and of the simulator has one line in docs/architecture.md or docs/folders.md, and each line its folder", () => {
  expect(foldersOfPage()).toEqual(foldersOfTree());
});
