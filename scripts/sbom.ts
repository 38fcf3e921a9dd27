import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundledTitles, sbomOf } from "./bundle/sbom.ts";

/** `npm run generate -- sbom`, after `npm run build`: writes `dist/sbom.cdx.json`, the libraries whose code is in the package, as CycloneDX. */
const root = join(import.meta.dirname, "..");
const whole = execFileSync("npm", ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"], {
  cwd: root,
  encoding: "utf8",
  maxBuffer: 64 * 1024 * 1024,
  shell: process.platform === "win32",
});
const titles = bundledTitles(readFileSync(join(root, "dist/THIRD-PARTY-NOTICES"), "utf8"));
const sbom = sbomOf(JSON.parse(whole), titles);
writeFileSync(join(root, "dist/sbom.cdx.json"), `${JSON.stringify(sbom, undefined, 2)}\n`);
console.log(`dist/sbom.cdx.json: ${sbom.components.length} libraries`);
