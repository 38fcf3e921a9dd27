import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { carried } from "./notices.ts";
import { bundledTitles, sbomOf } from "./sbom.ts";

/** Writes `dist/sbom.cdx.json`: the libraries whose code is in the package, as CycloneDX. The notices in `dist` name them. */
export function writeSbom(root: string): void {
  const whole = execFileSync("npm", ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"], {
    cwd: root,
    env: { ...process.env, NODE_ENV: undefined }, // the build sets "production", with which npm leaves out what is bundled
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === "win32",
  });
  const titles = bundledTitles(readFileSync(join(root, "dist/THIRD-PARTY-NOTICES"), "utf8"));
  const known = JSON.parse(whole) as { components: object[] }; // as npm documents it
  for (const { name, version, identifier } of Object.values(carried))
    known.components.push({
      "bom-ref": `${name}@${version}`,
      type: "library",
      name,
      version,
      purl: `pkg:npm/${name}@${version}`,
      licenses: [{ expression: identifier }],
    });
  const sbom = sbomOf(known, titles);
  writeFileSync(join(root, "dist/sbom.cdx.json"), `${JSON.stringify(sbom, undefined, 2)}\n`);
}
