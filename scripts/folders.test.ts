import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

/** Folders of `src` and `simulator` with files of their own, but for recorded inputs and what is generated below `src/proto`. */
function foldersOfTree(): readonly string[] {
  const files = globSync("{src,simulator}/**/*.{ts,tsx}", { cwd: root });
  const folders = new Set(files.map((file) => `${dirname(file).replaceAll("\\", "/")}/`));
  return [...folders].filter((folder) => !/\/fixtures\/|^src\/proto\/|^src\/$/.test(folder)).toSorted();
}

/** Rows of the table of layers, and what the list of folders names below each. */
function foldersOfPage(): readonly string[] {
  const page = readFileSync(join(root, "docs/dev/architecture.md"), "utf8");
  const layers = [...page.matchAll(/^\| `((?:src\/[\w-]+|simulator)\/)` \| [^|]*\w[^|]* \|/gm)].map(
    ([, folder]) => folder,
  );
  const below = [...page.matchAll(/^- `((?:src|simulator)\/(?:[\w-]+\/)*)`: (.+(?:\n {2}.+)*)/gm)].flatMap(
    ([, parent, list = ""]) => [...list.matchAll(/`([\w-]+\/)`/g)].map(([, name]) => `${parent}${name}`),
  );
  return [...layers, ...below]
    .map(String)
    .filter((folder) => folder !== "src/proto/")
    .toSorted();
}

test("docs/dev/architecture.md names each folder of src and of the simulator once, and no other", () => {
  expect(foldersOfPage()).toEqual(foldersOfTree());
});
