import { strict as assert } from "node:assert";
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startSimulator } from "../../simulator/index.ts";
import { MetadataSchema } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import type { BuildTypes } from "../../src/schema/build-types.ts";
import { readBundle } from "../../src/schema/read-bundle.ts";
import { reconcileSchema } from "../../src/schema/reconcile.ts";
import { fetchPackage, installPrograms } from "./fetch-package.ts";

/*
 * `npm test -- programs vendor`: published packages that hold code generated from the vendor's protobuf files, read as an extension's bundle is,
 * and held against our schema. Their content never enters this repository. What they are: docs/dev/wire/language-server.md.
 */
const editor = await fetchPackage("@codeium/react-code-editor", "1.0.12");
const plugin = await fetchPackage("@valtown/codemirror-codeium", "1.1.1");
if (editor === undefined || plugin === undefined) {
  const why = "The npm registry cannot be reached, and the packages are not in the cache: nothing was compared.";
  process.stderr.write(`${why}\n`);
  const mustRun = process.env["CI"] === "true";
  process.stdout.write(mustRun ? "\n0 passed, 1 failed\n" : "\n0 passed, 0 failed, 1 skipped\n");
  process.exit(mustRun ? 1 : 0);
}

const read = (folder: string, file: string) => readBundle(readFileSync(join(folder, file), "utf8"));
const counts = { passed: 0, failed: 0 };
function check(sentence: string, run: () => void): void {
  try {
    run();
    counts.passed++;
    process.stderr.write(`ok      ${sentence}\n`);
  } catch (error) {
    counts.failed++;
    process.stderr.write(`FAILED  ${sentence}\n${error instanceof Error ? error.message : String(error)}\n`);
  }
}

const theirs = await read(editor, "dist/index.js");
const third = await read(plugin, "dist/api/proto/exa/codeium_common_pb/codeium_common_pb.js");

check("of the vendor's package the types that we use are read: a message and an enum", () => {
  assert.deepEqual(namesOf(theirs), ["exa.codeium_common_pb.Metadata", "exa.codeium_common_pb.AuthSource"]);
});
check("its Metadata has our names and numbers", () => {
  const metadata = theirs.messages.get(MetadataSchema.typeName);
  assert.equal(metadata?.size, 11);
  for (const [name, { number }] of metadata ?? []) {
    assert.equal(MetadataSchema.fields.find((field) => field.name === name)?.number, number, name);
  }
});
check("nothing that both have contradicts ours", () => {
  assert.deepEqual(contradictions(theirs), []);
});
check("another package with the vendor's generated code agrees as well", () => {
  assert.ok(third.messages.has(MetadataSchema.typeName));
  assert.deepEqual(contradictions(third), []);
});
check("a moved field would show", () => {
  const fields = new Map(theirs.messages.get(MetadataSchema.typeName)).set("api_key", {
    number: 1_003,
    type: "STRING",
  });
  const moved = { ...theirs, messages: new Map([[MetadataSchema.typeName, fields]]) };
  assert.deepEqual(
    contradictions(moved).map(({ where, kind }) => [where, kind]),
    [["exa.codeium_common_pb.Metadata.api_key", "moved"]],
  );
});

if (process.platform === "linux" && process.arch === "x64") await checkPrograms();

process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed\n`);
process.exitCode = counts.failed > 0 ? 1 : 0;

/** Names that both have and that do not mean the same. What only one of them has contradicts nothing. */
function contradictions(types: BuildTypes) {
  return reconcileSchema(types).differences.filter(({ kind }) => kind !== "missing");
}

function namesOf({ messages, enums }: BuildTypes): readonly string[] {
  return [...messages.keys(), ...enums.keys()];
}

/** A published program: a meter of Antigravity. Nothing of it is kept. */
async function checkPrograms(): Promise<void> {
  const folder = installPrograms();
  if (folder === undefined) return check("the published programs can be fetched", () => assert.fail("npm could not"));
  const antigravity = await startSimulator({ profile: "antigravity" });
  try {
    const metered = askMeter(folder, antigravity.home);
    check("a published meter reads every model and the account of the stand-in Antigravity", () => {
      assert.equal(metered.email, "simulator@example.com");
      assert.ok(
        metered.models.length >= 7 && metered.models.some(({ remainingPercentage }) => remainingPercentage === 1),
      );
    });
  } finally {
    await antigravity.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function askMeter(folder: string, home: string) {
  const program = join(folder, "node_modules", "antigravity-usage", "dist", "index.js");
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, XDG_CONFIG_HOME: join(home, ".config") };
  const args = [program, "quota", "--method", "local", "--json"];
  const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8", env, timeout: 60_000 });
  return JSON.parse(stdout) as {
    readonly email: string;
    readonly models: readonly { readonly remainingPercentage?: number }[];
  };
}
