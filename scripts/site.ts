import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { deadLinks } from "./docs/built-links.ts";
import { missedQuestions } from "./docs/site-search.ts";

/** `npm run generate -- site`: builds the documentation site into `site/dist`, checks every link of the built pages, and asks
 * its search what users ask. */
const site = join(import.meta.dirname, "../site");
const vitepress = join(site, "node_modules/vitepress/bin/vitepress.js");

if (!existsSync(vitepress)) {
  execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: site,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
}
execFileSync(process.execPath, [vitepress, "build", site], {
  stdio: "inherit",
  env: { ...process.env, VITE_EXTRA_EXTENSIONS: "proto" }, // these are files, not pages
});
const { pages, links, dead } = deadLinks(join(site, "dist"));
const missed = await missedQuestions(site);
for (const line of [...dead, ...missed]) console.error(`site: ${line}`);
if (dead.length + missed.length > 0) process.exitCode = 1;
else console.log(`site: ${pages} pages in site/dist, ${links} links, each leads somewhere`);
