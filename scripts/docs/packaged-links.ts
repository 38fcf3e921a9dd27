import { readFileSync } from "node:fs";
import { dirname, extname, join, normalize } from "node:path";

/** Links of the packaged pages to files that the package lacks, one line each. `files`: the paths in the package. */
export function brokenInPackage(root: string, files: readonly string[]): readonly string[] {
  const packaged = new Set(files);
  return files
    .filter((file) => extname(file) === ".md")
    .flatMap((file) => {
      const text = readFileSync(join(root, file), "utf8").replaceAll(/^```[^]*?^```/gm, "");
      return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target = ""]) => target)
        .filter((target) => !/^(?:[a-z]+:|#)/.test(target))
        .filter(
          (target) => !packaged.has(normalize(join(dirname(file), target.replace(/#.*$/, ""))).replaceAll("\\", "/")),
        )
        .map((target) => `${file} links to ${target}, which is not in the package`);
    });
}
