import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * What users get is the tarball, not the tree: packs it, holds its types and exports against publint and attw, installs
 * it in an empty folder and uses it there.
 */
const root = join(import.meta.dirname, "..");
const temporary = mkdtempSync(join(tmpdir(), "millrace-package-"));

function run(command: string, args: readonly string[], cwd = root): string {
  return execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    shell: process.platform === "win32",
  });
}

try {
  const packed = JSON.parse(run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", temporary])) as [
    { readonly filename: string; readonly files: readonly { readonly path: string }[]; readonly size: number },
  ];
  const [{ filename, files, size }] = packed;
  const tarball = join(temporary, filename);
  const stray = files.filter(({ path }) => /\.(test|conformance|fake)\.|fixtures|corpus/.test(path));
  if (stray.length > 0) throw new Error(`test files are in the package: ${stray.map(({ path }) => path).join(", ")}`);
  run(process.execPath, ["scripts/run.mjs", "publint", "--strict", tarball]);
  run(process.execPath, ["scripts/run.mjs", "attw", "--profile", "esm-only", tarball]);

  writeFileSync(
    join(temporary, "package.json"),
    JSON.stringify({ name: "uses-millrace", private: true, type: "module" }),
  );
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", tarball], temporary);
  const { version, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly version: string;
    readonly exports: Readonly<Record<string, unknown>>;
  };
  const said = run(
    process.execPath,
    [join(temporary, "node_modules/millrace/dist/cli/bin.js"), "--version"],
    temporary,
  ).trim();
  if (said !== version) throw new Error(`the installed command says version ${said}, the package ${version}`);
  for (const entry of Object.keys(exports).filter((name) => name !== "./package.json")) {
    const name = entry === "." ? "millrace" : `millrace/${entry.slice(2)}`;
    run(process.execPath, ["--input-type=module", "--eval", `await import(${JSON.stringify(name)})`], temporary);
  }
  console.log(`package: ${files.length} files, ${(size / 1024).toFixed(0)} KB, installs and runs`);
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
