import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type OutputChunk, type OutputOptions, type PreRenderedChunk, type RolldownOptions, rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";

const root = join(import.meta.dirname, "../..");

/** The programs, and what is imported where Node runs. Processes and threads are started by these names, from their folder. */
const programs = {
  bin: "src/cli/bin.ts",
  "simulated-server": "simulator/main.ts",
  "simulated-agent": "simulator/acp/main.ts",
  "agent-host": "src/backends/acp/host/main.ts",
  "tool-relay": "src/backends/acp/relay/relay-program.ts",
  "report-worker": "src/usage/report-worker.ts",
  "pdf-worker": "src/gateway/pdf/pdf-worker.ts",
  gateway: "src/index.ts",
  simulator: "simulator/index.ts",
  opencode: "src/opencode/plugin.ts",
};

/** The client library: bundled apart from what needs Node, because it runs in browsers as well. */
const client = {
  index: "src/client/index.ts",
  node: "src/client/node/index.ts",
};

const { gateway, simulator, opencode } = programs;

/** What can be imported, by the name of the file that holds its types. */
export const publicEntries = { gateway, simulator, opencode, client: client.index, "client-node": client.node };

/** Syntax that the oldest Node of `engines` lacks is rewritten. */
const target = `node${oldestNode()}`;

/** What is never bundled: Node itself, and the package that a user installs for a Redis server. */
const external = [/^node:/, /^redis$/];

/** A library's ES module before its CommonJS form, whose `require` of its own files no bundler can follow in every case. */
const mainFields = ["module", "main"];

/**
 * V8 keeps the text of what it loaded in memory as long as the process runs, with two bytes for each character as soon as one of
 * them is not in Latin 1.
 */
const lightText: OutputOptions = { charset: "ascii", comments: false };

/** The main of the single file, which is one file itself, and CommonJS. */
const boot = { "single-file": "scripts/single-file/boot.ts" };

/** Writes the programs as few files: a lazy chunk for each command and each rare part, none of which loads another. */
export async function bundlePrograms(folder: string): Promise<readonly OutputChunk[]> {
  await write({ input: boot, platform: "node" }, folder, { ...lightText, format: "cjs", entryFileNames: "[name].cjs" });
  return write({ input: programs, platform: "node", resolve: { mainFields } }, folder, lightText);
}

/** Writes the client library. */
export function bundleClient(folder: string): Promise<readonly OutputChunk[]> {
  return write({ input: client, platform: "neutral", resolve: { mainFields } }, folder);
}

/** Writes the types of all that can be imported, with those of bundled libraries in them. */
export async function bundleTypes(folder: string): Promise<void> {
  await write(
    {
      input: publicEntries,
      platform: "node",
      plugins: [dts({ emitDtsOnly: true, tsconfig: join(root, "tsconfig.build.json") })],
    },
    folder,
    { chunkFileNames: "[name].d.ts" },
  );
}

/** The oldest version that `engines` promises, such as `22.13`. */
export function oldestNode(): string {
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { engines: { node: string } };
  return engines.node.replace(">=", "");
}

/** Code that several programs share is named after the folder that most of it comes from, not after its last module. */
function nameOf({ name, isDynamicEntry, moduleIds }: PreRenderedChunk): string {
  if (isDynamicEntry || moduleIds.length < 3) return name;
  const folders = moduleIds.map(
    (id) => /.*\/(?:src\/|node_modules\/(?:@[^/]+\/)?|(?=simulator\/))([^/]+)/.exec(id)?.[1] ?? name,
  );
  const counts = new Map<string, number>();
  for (const folder of folders) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  return `shared-${[...counts].reduce((most, next) => (next[1] > most[1] ? next : most))[0]}`;
}

async function write(options: RolldownOptions, folder: string, more: OutputOptions = {}) {
  const build = await rolldown({
    cwd: root,
    external,
    tsconfig: join(root, "tsconfig.json"),
    transform: { target },
    checks: { pluginTimings: false, bundlerTimings: false },
    onLog(level, log, report) {
      // The plugin cannot read the CommonJS types of zod's languages; none of the types that are kept mentions them.
      if (log.plugin?.startsWith("rolldown-plugin-dts") === true && /zod\/v4\/locales/.test(log.message)) return;
      if (level === "warn") throw new Error(log.message);
      report(level, log);
    },
    ...options,
  });
  try {
    const names = { entryFileNames: "[name].js", chunkFileNames: (chunk: PreRenderedChunk) => `${nameOf(chunk)}.js` };
    const { output } = await build.write({ dir: folder, format: "esm", ...names, ...more });
    return output.filter((file) => file.type === "chunk");
  } finally {
    await build.close();
  }
}
