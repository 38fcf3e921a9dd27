import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The package's version, with the commit that it was built from. Sources have none. */
export function version(): string {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly version: string;
  }; // our own file
  const commit = new URL("../commit", import.meta.url); // the build writes it
  return existsSync(commit) ? `${manifest.version}+${readFileSync(commit, "utf8")}` : manifest.version;
}

/** The OpenCode plugin of this very Millrace, as a `file:` address: installed, or in a clone. */
export const openCodePlugin = new URL(
  import.meta.url.endsWith(".ts") ? "../opencode/plugin.ts" : "./opencode.js", // the bundle is one folder
  import.meta.url,
).href;

/** The folder of the built dashboard. Built and unbuilt code both stand two folders below the package's root. */
export const dashboardFolder = fileURLToPath(new URL("../../dist/dashboard", import.meta.url));
