import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** Millrace as users get it: the packed tarball, installed with its dependencies into a project of its own. */
export interface Packed {
  /** The project; the package is `node_modules/millrace` there. */
  readonly folder: string;
  /** Its `millrace` command. */
  readonly bin: string;
  /** The folder of that command, for a PATH. */
  readonly binFolder: string;
}

let packed: Packed | undefined;

/** Packs and installs it, once for this process; removed at its end. Throws with npm's words when that fails. */
export function installPacked(): Packed {
  if (packed !== undefined) return packed;
  process.stderr.write("Packing Millrace and installing the tarball …\n");
  const folder = mkdtempSync(join(tmpdir(), "millrace-packed-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const tarball = pack(folder);
  const options = ["--prefix", folder, "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]; // npm may prefer a folder above
  npm(["install", tarball, ...options], folder);
  const binFolder = join(folder, "node_modules/.bin");
  packed = { folder, bin: join(binFolder, "millrace"), binFolder };
  return packed;
}

/** Packs Millrace into this folder; the path of the tarball. Throws with npm's words when that fails. */
export function pack(folder: string): string {
  npm(["pack", "--pack-destination", folder], root);
  const [tarball] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  if (tarball === undefined) throw new Error("npm packed nothing");
  return join(folder, tarball);
}

function npm(args: readonly string[], cwd: string): void {
  const path = `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`;
  const { status, stderr } = spawnSync("npm", [...args, "--loglevel=error"], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, PATH: path },
  });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} ended with ${status}:\n${stderr}`);
}
