import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { MillraceError } from "../../base/errors.ts";
import { ModelSchema } from "../../proto/windsurf/exa/codeium_common_pb.ts";
import { diffSchemas, missingValues } from "../../schema/diff.ts";
import type { BuildSchema } from "../../schema/open-schemas.ts";
import { protoText } from "../../schema/proto-text.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { composeIdeFinder, composeSchemas } from "../compose/compose-ide.ts";
import { flag, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { overridesOf } from "../serve/ide-options.ts";
import { describeBuild } from "../terminal/describe-build.ts";

const file = text("path of an `extension.js` (default: that of the running IDE)", "<path>", { short: "f" });

const show = defineCommand({
  name: "show",
  summary: "Compare a build's schema with the one in Millrace",
  group: "Look",
  options: { file, all: flag("list every difference, not only the first"), json: flag("print JSON") },
  examples: [["millrace schema show", "the IDE that runs now"]],
  async run({ options }, context) {
    const { out } = context;
    const { path, schema } = await readBuild(options.file, context);
    const { verdict, differences } = schema.reconciliation;
    const models = schema.registry.getEnum(ModelSchema.typeName);
    const newModels = models === undefined ? [] : missingValues(ModelSchema, models);
    if (options.json) {
      out.json({
        file: path,
        sha256: schema.digest,
        verdict,
        differences,
        problems: schema.problems,
        new_models: newModels,
      });
      return;
    }
    for (const line of describeBuild(path, schema, newModels, options.all)) out.line(line);
  },
});

const diff = defineCommand({
  name: "diff",
  summary: "List the changes between two builds",
  group: "Look",
  options: { json: flag("print JSON") },
  arguments: [
    { name: "before", summary: "extension.js of one build", required: true, variadic: false },
    { name: "after", summary: "extension.js of a later build", required: true, variadic: false },
  ],
  examples: [["millrace schema diff old/extension.js new/extension.js", "added, moved and removed"]],
  async run({ options, args: [before = "", after = ""] }, context) {
    const [old, now] = [await readBuild(before, context), await readBuild(after, context)];
    const changes = diffSchemas(old.schema.registry, now.schema.registry);
    if (options.json) context.out.json(changes);
    else {
      for (const { change, what, name, before: from, after: to } of changes) {
        const later = change === "moved" ? to?.replace(/^.*= /, "") : to; // the type is the same
        const values = [from, later].filter((value) => value !== undefined).join(" -> ");
        context.out.line(`${change.padEnd(8)} ${what.padEnd(8)} ${name}${values === "" ? "" : `  ${values}`}`);
      }
      if (changes.length === 0) context.out.note("Nothing changed.");
    }
  },
});

const exportCommand = defineCommand({
  name: "export",
  summary: "Write a build's schema as .proto files",
  group: "Look",
  options: { file, out: text("the folder to write to", "<folder>", { short: "o" }) },
  examples: [["millrace schema export --out windsurf-protos", "for any protobuf tool"]],
  async run({ options }, context) {
    if (options.out === undefined) {
      throw new MillraceError("invalid_request", "There is no folder to write to.", {
        hint: "Name one: --out <folder>.",
      });
    }
    const folder = resolve(options.out);
    const { schema } = await readBuild(options.file, context);
    let written = 0;
    for (const described of schema.registry.files) {
      if (described.name.startsWith("google/")) continue;
      const path = join(folder, `${described.name}.proto`);
      // A bundle names its packages, and so its files: none of them may lead out of the folder.
      if (!path.startsWith(folder + sep))
        throw new MillraceError("invalid_request", `The build names a file outside of ${folder}.`);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, protoText(described));
      written++;
    }
    context.out.line(`${written} files in ${folder}`);
  },
});

export const schemaCommand = defineCommand({
  ...outlines.schema,
  description: "Reads the protobuf schema from an IDE's extension.js. docs/schema.md describes how it is used.",
  options: {},
  examples: [],
  subcommands: [show, diff, exportCommand],
  run() {
    throw new MillraceError("invalid_request", "The subcommand is missing.", {
      hint: "show, diff or export; `millrace schema --help` lists them.",
    });
  },
});

async function readBuild(
  given: string | undefined,
  { io, signal }: CommandContext,
): Promise<{ readonly path: string; readonly schema: BuildSchema }> {
  const path = given ?? (await bundleOfRunningIde({ io, signal }));
  return { path, schema: await composeSchemas(io).read(path, signal) };
}

async function bundleOfRunningIde({ io, signal }: Pick<CommandContext, "io" | "signal">): Promise<string> {
  const finder = composeIdeFinder(io, overridesOf(io, { ide: undefined, endpoint: undefined, tokenFile: undefined }));
  try {
    const { ides } = await finder.find(signal);
    const ide = ides.find(({ variant, identity }) => variant !== "antigravity" && identity.extensionPath !== "");
    if (ide !== undefined) return join(ide.identity.extensionPath, "dist", "extension.js");
  } finally {
    finder.close();
  }
  throw new MillraceError(
    "ide_not_running",
    "Millrace found no running Devin Desktop (formerly Windsurf) with a readable extension.",
    {
      hint: "Name the file: --file <path to extension.js>.",
    },
  );
}
