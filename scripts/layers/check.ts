import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { cruise, type ICruiseOptions, type IReporterOutput } from "dependency-cruiser";
import extractTSConfig from "dependency-cruiser/config-utl/extract-ts-config";
import budgets from "./budgets.json" with { type: "json" };
import { checkBudgets } from "./size.ts";

interface Configuration {
  readonly knows: Readonly<Record<string, readonly string[]>>;
  /** By folder, then by a part of it: the other parts that it may know. */
  readonly order: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  readonly forbidden: NonNullable<NonNullable<ICruiseOptions["ruleSet"]>["forbidden"]>;
  readonly options: ICruiseOptions;
}

const folders = ["src", "simulator"];

interface Found {
  readonly violations: readonly string[];
  /** Source files that the cruiser did not read: a cruiser that cannot parse passes everything. */
  readonly unseen: readonly string[];
  readonly foldersWithoutRow: readonly string[];
  /** Rows whose folder or file is gone. */
  readonly rowsWithoutPart: readonly string[];
}

/** The layers whose folders have an order inside as well. */
const core = /^src\/(cli|log|turns|backends|gateway)\//;

/** Holds the tree below `root` (its folders `src` and `simulator`) against `.dependency-cruiser.cjs`. */
export async function checkLayers(root: string, configurationFile: string): Promise<Found> {
  const configuration = createRequire(import.meta.url)(configurationFile) as Configuration; // our own file, typed above
  const before = process.cwd();
  process.chdir(root);
  try {
    const output: IReporterOutput = await cruise(
      folders,
      { ...configuration.options, validate: true, ruleSet: { forbidden: configuration.forbidden } },
      undefined,
      { tsConfig: extractTSConfig("tsconfig.json") },
    );
    if (typeof output.output === "string") throw new Error("the cruiser answered text where a result was asked for");
    const { modules, summary } = output.output;
    const seen = new Set(modules.map((module) => module.source));
    const sources = folders.flatMap(filesBelow).filter((file) => file.endsWith(".ts"));
    return {
      violations: summary.violations.map((v) => `${v.rule.name}: ${v.from} -> ${v.to}`),
      unseen: sources.filter((file) => !seen.has(file)),
      foldersWithoutRow: [
        ...readdirSync("src", { withFileTypes: true })
          .filter((entry) => entry.isDirectory() && !(entry.name in configuration.knows))
          .map((entry) => `src/${entry.name}`),
        ...foldersWithoutOrder(sources, configuration),
      ],
      rowsWithoutPart: Object.entries(configuration.order).flatMap(([folder, parts]) =>
        [...Object.keys(parts), ...Object.values(parts).flat()]
          .map((part) => join(folder, part))
          .filter((part) => !existsSync(part)),
      ),
    };
  } finally {
    process.chdir(before);
  }
}

function foldersWithoutOrder(sources: readonly string[], { order }: Configuration): readonly string[] {
  const folders = new Set(
    sources.filter((file) => core.test(file) && !/\.(test|fake|conformance)\.ts$/.test(file)).map(dirname),
  );
  return [...folders].filter((folder) => {
    const parent = dirname(folder);
    return core.test(folder) && order[parent]?.[relative(parent, folder)] === undefined;
  });
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(".", join(entry.parentPath, entry.name)));
}

if (process.argv[1] === import.meta.filename) {
  const root = join(import.meta.dirname, "../..");
  const found = await checkLayers(root, join(root, ".dependency-cruiser.cjs"));
  for (const violation of found.violations) console.error(`layers: ${violation}`);
  for (const file of found.unseen) console.error(`layers: not read by the check: ${file}`);
  for (const folder of found.foldersWithoutRow)
    console.error(`layers: ${folder} has no row in .dependency-cruiser.cjs`);
  for (const part of found.rowsWithoutPart)
    console.error(`layers: ${part} has a row in .dependency-cruiser.cjs, but is gone`);
  const overBudget = checkBudgets(root, budgets);
  for (const problem of overBudget) console.error(`layers: ${problem}`);
  const problems = [...Object.values(found), overBudget].flat().length;
  if (problems > 0) process.exitCode = 1;
  else
    console.log("layers: every import of src/ and simulator/ points down, and every floor keeps its budget of lines");
}
