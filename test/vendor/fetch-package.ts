import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
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
