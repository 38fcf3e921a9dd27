import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
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
  const pages = ["architecture", "folders"].map((page) => readFileSync(join(root, `docs/dev/${page}.md`), "utf8"));
  return [...pages.join("\n").matchAll(/^\| `((?:src|simulator)\/(?:[\w-]+\/)*)` \| ([^|]+) \|/gm)]
    .map(([, folder = "", words = ""]) => (words.trim() === "" ? `${folder} without words` : folder))
    .filter((folder) => folder !== "src/proto/")
    .toSorted((a, b) => a.localeCompare(b, "en"));
}

test("each folder of src and of the simulator has one line in docs/dev/architecture.md or docs/dev/folders.md, and each line its folder", () => {
  expect(foldersOfPage()).toEqual(foldersOfTree());
});

test("docs/dev/folders.md says of each folder in an order what it may know, as the layer check has it", () => {
  const { order } = createRequire(import.meta.url)("../.dependency-cruiser.cjs") as {
    order: Record<string, Record<string, string[]>>;
  };
  const page = readFileSync(join(root, "docs/dev/folders.md"), "utf8");
  const said = [...page.matchAll(/^\| `(src\/[^`]+)\/` \|[^|]+\| ([^|]+) \|$/gm)].map(([, folder, known]) => [
    folder,
    known,
  ]);
  const checked = Object.entries(order).flatMap(([folder, parts]) =>
    Object.entries(parts)
      .filter(([part]) => part !== "." && !part.endsWith(".ts"))
      .map(([part, others]) => [
        `${folder}/${part}`,
        others.map((name) => (name === "." ? "files beside it" : name)).join(", ") || "none",
      ]),
  );
  expect(Object.fromEntries(said)).toEqual(Object.fromEntries(checked));
});
