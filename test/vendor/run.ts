import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { create, createFileRegistry, type DescFile, type FileRegistry } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { MetadataSchema } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import { LanguageServerService } from "../../src/proto/windsurf/exa/language_server_pb.ts";
import { diffSchemas, type SchemaChange } from "../../src/schema/diff.ts";
import { readSchema, registryOf } from "../../src/schema/read-schema.ts";
import { fetchPackage } from "./fetch-package.ts";

/*
 * `npm run test:vendor`: published packages that hold code generated from the vendor's protobuf files, read as an extension's bundle is,
 * and held against our schema. Their content never enters this repository. What they are: docs/wire/language-server.md.
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

const read = (folder: string, file: string) => registryOf(readSchema(readFileSync(join(folder, file), "utf8")));
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

const ours = ourSchema();
const theirs = read(editor, "dist/index.js");
const third = read(plugin, "dist/api/proto/exa/codeium_common_pb/codeium_common_pb.js");

check("the vendor's package is read as a whole: 19 messages, 8 enums, one service", () => {
  assert.deepEqual([count(theirs, "message"), count(theirs, "enum"), count(theirs, "service")], [19, 8, 1]);
});
check("its Metadata has our names and numbers", () => {
  const metadata = theirs.getMessage(MetadataSchema.typeName);
  assert.ok(metadata !== undefined && metadata.fields.length === 11);
  for (const { name, number } of metadata.fields) {
    assert.equal(MetadataSchema.fields.find((field) => field.name === name)?.number, number, name);
  }
});
check("what both have is the same in every message and enum", () => {
  assert.deepEqual(common(ours, theirs), [
    "enum exa.codeium_common_pb.AuthSource",
    "enum exa.codeium_common_pb.ExperimentKey",
    "enum exa.codeium_common_pb.Language",
    "message exa.codeium_common_pb.Metadata",
    "service exa.language_server_pb.LanguageServerService",
  ]);
  assert.deepEqual(contradictions(ours, theirs), []);
});
check("another package with the vendor's generated code agrees as well", () => {
  assert.ok(common(ours, third).includes("message exa.codeium_common_pb.Metadata"));
  assert.deepEqual(contradictions(ours, third), []);
  assert.deepEqual(contradictions(theirs, third), []);
});
check("a moved field would show", () => {
  const moved = read(editor, "dist/index.js");
  const file = moved.getMessage(MetadataSchema.typeName)?.file.proto;
  const field = file?.messageType.find(({ name }) => name === "Metadata")?.field.find(({ name }) => name === "api_key");
  assert.ok(file !== undefined && field !== undefined);
  field.number = 1_003;
  const rebuilt = createFileRegistry(file, (name) => moved.getFile(name));
  assert.deepEqual(
    contradictions(ours, rebuilt).map(({ name, change }) => [name, change]),
    [["exa.codeium_common_pb.Metadata.api_key", "moved"]],
  );
});

process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed\n`);
process.exitCode = counts.failed > 0 ? 1 : 0;

/** Names that both have and that do not mean the same. What only one of them has contradicts nothing. */
function contradictions(one: FileRegistry, other: FileRegistry): readonly SchemaChange[] {
  return diffSchemas(one, other).filter(({ change }) => change === "moved" || change === "changed");
}

function common(one: FileRegistry, other: FileRegistry): readonly string[] {
  return [...other]
    .filter(({ kind, typeName }) => !typeName.startsWith("google.") && one.get(typeName)?.kind === kind)
    .map(({ kind, typeName }) => `${kind} ${typeName}`)
    .toSorted();
}

function count(registry: FileRegistry, kind: string): number {
  return [...registry].filter((type) => type.kind === kind && !type.typeName.startsWith("google.")).length;
}

function ourSchema(): FileRegistry {
  const files = new Set<DescFile>();
  const add = (file: DescFile): void => {
    for (const each of file.dependencies) add(each); // before what imports it
    files.add(file);
  };
  add(LanguageServerService.file);
  return createFileRegistry(create(FileDescriptorSetSchema, { file: [...files].map(({ proto }) => proto) }));
}
