import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

/** What was published under these names, once and for all. */
const integrity: Readonly<Record<string, string>> = {
  "@codeium/react-code-editor@1.0.12":
    "sha512-ps0J00jGBs/mhr1R9u+UTW+uK/6ba0WhCr2qYr7M9/w4ZQQXYmiZ3zniZwJGAhle69y5AE7SiUTVWZK7BU/4UA==",
  "@valtown/codemirror-codeium@1.1.1":
    "sha512-J/LcCiHAhqcqTFjxAFYtUIxSPXY1cdhANsJ8HWqb4wIRengcigBC0r8psZOaVdFHrky4p56q+sJL1Wnsd0Xsug==",
};

/**
 * The folder with a published package, without what it depends on; fetched once into the user's cache (or MILLRACE_TEST_CLIENTS).
 * Undefined where the registry cannot be reached.
 */
export async function fetchPackage(name: string, version: string): Promise<string | undefined> {
  const spec = `${name}@${version}`;
  const expected = integrity[spec];
  if (expected === undefined) throw new Error(`There is no note about ${spec}.`);
  const cache = process.env["MILLRACE_TEST_CLIENTS"] ?? join(homedir(), ".cache", "millrace", "test-clients");
  const folder = join(cache, spec.replaceAll(/[^\w.-]+/g, "-"));
  const inside = join(folder, "package");
  if (existsSync(inside)) return inside;
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(join(cache, "fetching-"));
  try {
    const path = `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`;
    const packed = spawnSync("npm", ["pack", spec, "--silent", "--ignore-scripts"], {
      cwd: fresh,
      encoding: "utf8",
      env: { ...process.env, PATH: path },
      timeout: 120_000,
    });
    const tarball = packed.stdout?.trim().split("\n").at(-1) ?? "";
    if (packed.status !== 0 || tarball === "") return undefined;
    const digest = createHash("sha512")
      .update(readFileSync(join(fresh, tarball)))
      .digest("base64");
    if (`sha512-${digest}` !== expected) throw new Error(`${spec} is not what was published: sha512-${digest}`);
    const unpacked = spawnSync("tar", ["-xzf", tarball], { cwd: fresh, timeout: 60_000 });
    if (unpacked.status !== 0) throw new Error(`${spec} could not be unpacked: ${String(unpacked.stderr)}`);
    renameSync(fresh, folder);
    return inside;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

const programs: Readonly<Record<string, string>> = {
  "antigravity-usage@0.2.6":
    "sha512-0GwvJtBvioLr/3HyJvK+67IUaXrB9wUxwsO4e6zX1GgwC/ycvYpE4XVggRhH7FzF1iEnMpIwCdAtXUteXpRB3w==",
};

/** A temporary folder with the published programs and what they depend on; the caller removes it. Undefined where npm cannot. */
export function installPrograms(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "millrace-programs-"));
  const path = `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`;
  const args = ["install", ...Object.keys(programs), "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder];
  const { status } = spawnSync("npm", args, { env: { ...process.env, PATH: path }, stdio: "ignore", timeout: 180_000 });
  if (status !== 0) {
    rmSync(folder, { recursive: true, force: true });
    return undefined;
  }
  const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly integrity?: string }>>;
  };
  for (const [spec, expected] of Object.entries(programs)) {
    const name = spec.slice(0, spec.lastIndexOf("@"));
    const found = lock.packages[`node_modules/${name}`]?.integrity;
    if (found !== expected) throw new Error(`${spec} is not what was published: ${found}`);
  }
  return folder;
}
