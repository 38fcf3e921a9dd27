import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, type InlineConfig } from "vite";
import { bundleClient, bundlePrograms, bundleTypes } from "./bundle/bundle.ts";
import { checkClientSize, checkDashboardSize } from "./bundle/dashboard-size.ts";
import { type Bundled, bundledIn, notices, unnamedHolders } from "./bundle/notices.ts";
import { writeSbom } from "./bundle/write-sbom.ts";

/** Builds `dist/`: the programs, the client library and their types as few files each, the dashboard, and the list of the libraries in them. */
const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true });
const chunks = [...(await bundlePrograms(join(dist, "node"))), ...(await bundleClient(join(dist, "client")))];
checkClientSize(join(dist, "client"));
await bundleTypes(join(dist, "types"));
chmodSync(join(dist, "node/bin.js"), 0o755);
const told = notices([...bundledIn(chunks), ...(await buildDashboard())]);
const unnamed = unnamedHolders(chunks, told);
if (unnamed.length > 0) throw new Error(`THIRD-PARTY-NOTICES names none of these:\n${unnamed.join("\n")}`);
writeFileSync(join(dist, "THIRD-PARTY-NOTICES"), told);
writeSbom(root);
const { stdout: commit } = spawnSync("git", ["rev-parse", "--short=8", "HEAD"], { cwd: root, encoding: "utf8" });
if (existsSync(join(root, ".git")) && commit) writeFileSync(join(dist, "commit"), commit.trim());

/** Builds the dashboard; answers the libraries that are in it. */
async function buildDashboard(): Promise<readonly Bundled[]> {
  const configFile = join(root, "web/vite.config.ts");
  if (!existsSync(configFile)) return [];
  const fileName = "libraries.json";
  const options: InlineConfig = { configFile, logLevel: "warn", build: { license: { fileName } } };
  await build(options);
  const list = join(dist, "dashboard", fileName);
  const libraries = JSON.parse(readFileSync(list, "utf8")) as readonly Bundled[]; // as Vite documents it
  rmSync(list);
  checkDashboardSize(join(dist, "dashboard"));
  return libraries;
}
