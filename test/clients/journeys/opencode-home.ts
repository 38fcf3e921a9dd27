import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Bench } from "../bench.ts";
import { installPacked } from "../packed.ts";

/** What keeps OpenCode from asking anybody but the gateway. */
export const quietOpenCode: Readonly<Record<string, string>> = {
  OPENCODE_DISABLE_MODELS_FETCH: "1",
  OPENCODE_DISABLE_AUTOUPDATE: "1",
  OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
};

/** The plugin of the packed Millrace, named as `millrace setup opencode` names it. */
export function packedPlugin(): string {
  return pathToFileURL(join(installPacked().folder, "node_modules/millrace/dist/node/opencode.js")).href;
}

/**
 * A home in which OpenCode has already fetched its own part for plugins: what it does by itself at its first start, from a
 * registry. Answers the configuration's path.
 */
export function prepareOpenCode(bench: Bench, home: string, config: object): string {
  const folder = join(home, ".config", "opencode");
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  const { version } = JSON.parse(
    readFileSync(join(bench.clients, "node_modules/@opencode-ai/plugin/package.json"), "utf8"),
  ) as { readonly version: string };
  const declared = { dependencies: { "@opencode-ai/plugin": version } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(declared));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages: { "": declared } }));
  for (const name of ["@opencode-ai", "zod"])
    cpSync(join(bench.clients, "node_modules", name), join(folder, "node_modules", name), { recursive: true });
  const file = join(folder, "opencode.json");
  writeFileSync(file, JSON.stringify(config));
  return file;
}
