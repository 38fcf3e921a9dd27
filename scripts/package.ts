import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brokenInPackage } from "./docs/packaged-links.ts";

/**
 * What users get is the tarball, not the tree: packs it, holds its types and exports against publint and attw, installs
 * it in an empty folder, weighs it and uses it there.
 */
const root = join(import.meta.dirname, "..");
const temporary = mkdtempSync(join(tmpdir(), "millrace-package-"));
/** The most that an installed Millrace may be, with all that it depends on. */
const limits = { packages: 25, megabytes: 20 };

function run(command: string, args: readonly string[], cwd = root): string {
  return execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    shell: process.platform === "win32",
  });
}

/** How many packages are installed, and how much space their files take. */
function weigh(modules: string): { readonly packages: number; readonly megabytes: number } {
  const lock = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, unknown>>;
  }; // npm's own list of what it installed
  const files = readdirSync(modules, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  return { packages: Object.keys(lock.packages).length, megabytes: bytes / 1_000_000 };
}

/** Compiles a program that uses these entries. */
function compile(file: string, entries: readonly string[], options: readonly string[]): void {
  writeFileSync(
    join(temporary, file),
    entries.map((name, index) => `import * as entry${index} from "${name}";\nvoid entry${index};\n`).join(""),
  );
  const strict = [
    "--noEmit",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2024",
    "--lib",
    "es2024,dom,dom.iterable,dom.asynciterable,esnext.disposable",
  ];
  run(process.execPath, ["scripts/run.mjs", "tsc", ...strict, ...options, "--ignoreConfig", join(temporary, file)]);
}

/** What the types of an entry call a value must be there where it runs, and the reverse. */
function compareValues(name: string, exported: readonly (readonly [string, unknown])[]): void {
  const entry = exported.find(([path]) => path.replace(".", "millrace") === name)?.[1];
  const { types } = entry as { readonly types: string }; // the entries with code have types
  const text = readFileSync(join(temporary, "node_modules/millrace", types), "utf8");
  const said = [...text.matchAll(/^export \{([^}]*)\}/gm)]
    .flatMap(([, names = ""]) => names.split(",").map((each) => each.trim()))
    .filter((each) => !each.startsWith("type "))
    .map((each) => each.replace(/^.* as /, ""));
  const program = `console.log(JSON.stringify(Object.keys(await import(${JSON.stringify(name)}))))`;
  const real = JSON.parse(run(process.execPath, ["--input-type=module", "--eval", program], temporary)) as string[];
  if (said.toSorted().join() !== real.toSorted().join())
    throw new Error(`the types of ${name} have the values ${said.join(", ")}; its code has ${real.join(", ")}`);
}

try {
  const packed = JSON.parse(run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", temporary])) as [
    { readonly filename: string; readonly files: readonly { readonly path: string }[]; readonly size: number },
  ];
  const [{ filename, files, size }] = packed;
  const tarball = join(temporary, filename);
  const stray = files.filter(({ path }) => /\.(test|conformance|fake)\.|fixtures|corpus/.test(path));
  if (stray.length > 0) throw new Error(`test files are in the package: ${stray.map(({ path }) => path).join(", ")}`);
  const broken = brokenInPackage(
    root,
    files.map(({ path }) => path),
  );
  if (broken.length > 0) throw new Error(broken.join("\n"));
  for (const needed of ["dist/THIRD-PARTY-NOTICES", "dist/sbom.cdx.json"])
    if (!files.some(({ path }) => path === needed)) throw new Error(`${needed} is not in the package`);
  run(process.execPath, ["scripts/run.mjs", "publint", "--strict", tarball]);
  run(process.execPath, ["scripts/run.mjs", "attw", "--profile", "esm-only", tarball]);

  writeFileSync(
    join(temporary, "package.json"),
    JSON.stringify({ name: "uses-millrace", private: true, type: "module" }),
  );
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", tarball], temporary);
  const { packages, megabytes } = weigh(join(temporary, "node_modules"));
  if (packages > limits.packages || megabytes > limits.megabytes) {
    throw new Error(
      `installed it is ${packages} packages and ${megabytes.toFixed(1)} MB; at most ${limits.packages} and ${limits.megabytes} are meant`,
    );
  }
  const { version, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly version: string;
    readonly exports: Readonly<Record<string, unknown>>;
  };
  const bin = join(temporary, "node_modules/millrace/dist/node/bin.js");
  const said = run(process.execPath, [bin, "--version"], temporary).trim();
  if (said.split("+")[0] !== version)
    throw new Error(`the installed command says version ${said}, the package ${version}`);
  const entries = Object.keys(exports)
    .filter((name) => name !== "./package.json")
    .map((name) => (name === "." ? "millrace" : `millrace/${name.slice(2)}`));
  for (const name of entries) compareValues(name, Object.entries(exports));
  const ofPackage = join(temporary, "node_modules/millrace/dist/types");
  const ofTheWire = readdirSync(ofPackage).filter((file) =>
    /aiserver|@bufbuild|\$typeName/.test(readFileSync(join(ofPackage, file), "utf8")),
  );
  if (ofTheWire.length > 0) throw new Error(`the protocol's messages are in public types: ${ofTheWire.join(", ")}`);
  const node = ["--types", "node", "--typeRoots", join(root, "node_modules/@types")];
  compile(
    "uses.ts",
    entries.filter((name) => name !== "millrace/simulator"),
    [...node, "--skipLibCheck", "false"],
  );
  // The types of its options are zod's, which do not hold under that check once they are bundled.
  compile("simulates.ts", ["millrace/simulator"], [...node, "--skipLibCheck", "true"]);
  compile("browser.ts", ["millrace/client"], ["--skipLibCheck", "false"]);
  console.log(
    `package: ${files.length} files, ${(size / 1024).toFixed(0)} KB; installs as ${packages} packages and ${megabytes.toFixed(1)} MB, compiles and runs`,
  );
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
