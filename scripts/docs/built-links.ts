import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Links and pictures of the built pages below `folder` that lead to no file or to no anchor, one line each. */
export function deadLinks(folder: string): {
  readonly pages: number;
  readonly links: number;
  readonly dead: readonly string[];
} {
  const files = globSync("**/*.html", { cwd: folder }).map((file) => file.replaceAll("\\", "/"));
  const pages = new Map(files.map((file) => [file, readFileSync(join(folder, file), "utf8")]));
  const anchors = new Map(
    [...pages].map(([file, html]) => [file, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id))]),
  );
  const dead: string[] = [];
  let links = 0;
  for (const [file, html] of pages) {
    for (const [, target = ""] of html.matchAll(/ (?:href|src)="([^"]+)"/g)) {
      if (/^(?:[a-z]+:|\/\/)/.test(target)) continue;
      links++;
      const [path = "", anchor = ""] = decodeURIComponent(target).replaceAll("&amp;", "&").split("#");
      const to = pageOf(file, path);
      if (!existsSync(join(folder, to))) dead.push(`${file}: there is no ${target}`);
      else if (anchor !== "" && anchors.get(to)?.has(anchor) === false)
        dead.push(`${file}: ${to} has no anchor #${anchor}`);
    }
  }
  return { pages: pages.size, links, dead };
}

/** The file that a link of the page `from` leads to. */
function pageOf(from: string, path: string): string {
  if (path === "") return from;
  const to = normalize(path.startsWith("/") ? path.slice(1) : join(dirname(from), path)).replaceAll("\\", "/");
  if (to === "." || to === "" || to.endsWith("/")) return join(to, "index.html");
  return /\.\w+$/.test(to) ? to : `${to}.html`;
}
