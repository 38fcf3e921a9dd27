import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

/** An entry of the sidebar for each page below `docs/guides`, by its heading. */
export function guides(root: string): readonly { readonly text: string; readonly link: string }[] {
  return globSync("docs/guides/*.md", { cwd: root })
    .toSorted()
    .map((file) => ({
      text: /^# (.+)$/m.exec(readFileSync(join(root, file), "utf8"))?.[1] ?? basename(file),
      link: `/${file.replaceAll("\\", "/").slice(0, -".md".length)}`,
    }));
}
