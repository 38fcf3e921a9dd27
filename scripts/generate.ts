import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** `npm run generate [-- NAME …]`: writes what is made from other files of the repository. Without a name: the pages. */
const makers: Readonly<Record<string, readonly string[]>> = {
  pages: ["scripts/docs.ts"],
  api: ["scripts/api-report.ts"],
  proto: ["scripts/proto.ts"],
  site: ["scripts/site.ts"],
  pictures: ["scripts/pictures.ts"],
  "single-file": ["scripts/single-file.ts"],
};

const root = join(import.meta.dirname, "..");
const asked = process.argv.slice(2);
for (const name of asked.length === 0 ? ["pages"] : asked) {
  const files = makers[name];
  if (files === undefined) {
    console.error(`Nothing named ${name} is generated. There are: ${Object.keys(makers).join(", ")}.`);
    process.exit(64);
  }
  for (const file of files) {
    const { status } = spawnSync(process.execPath, ["scripts/run.mjs", file], { cwd: root, stdio: "inherit" });
    if (status !== 0) process.exit(status ?? 1);
  }
}
