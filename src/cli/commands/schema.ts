import { join } from "node:path";
import { MillraceError } from "../../base/errors.ts";
import { ModelSchema } from "../../proto/windsurf/exa/codeium_common_pb.ts";
import type { BuildSchema } from "../../schema/open-schemas.ts";
import type { SchemaDifference } from "../../schema/reconcile.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { composeSchemas, withFinder } from "../compose/compose-ide.ts";
import { spellCount } from "../doctor/spell.ts";
import { flag, text } from "../options.ts";
import { outlines } from "../outlines.ts";

export const schemaCommand = defineCommand({
  ...outlines.schema,
  description:
    "Reads the protobuf schema from an IDE's extension.js and compares it with the one in Millrace. docs/schema.md describes how it is used.",
  options: {
    file: text("path of an `extension.js` (default: that of the running IDE)", "<path>", { short: "f" }),
    all: flag("list every difference, not only the first"),
    json: flag("print JSON"),
  },
  examples: [["millrace schema", "the IDE that runs now"]],
  async run({ options }, context) {
    const { io, out, signal } = context;
    const file = options.file ?? (await bundleOfRunningIde(context));
    const schema = await composeSchemas(io).read(file, signal);
    const known = new Set(ModelSchema.values.map(({ name }) => name));
    const newModels = (schema.registry.getEnum(ModelSchema.typeName)?.values ?? [])
      .filter(({ name }) => !known.has(name))
      .map(({ name, number }) => ({ name, number }));
    if (options.json) {
      const { digest: sha256, problems, reconciliation } = schema;
      const { verdict, differences } = reconciliation;
      return out.json({ file, sha256, verdict, differences, problems, newModels });
    }
    for (const line of describeBuild(file, schema, newModels, options.all)) out.line(line);
  },
});

async function bundleOfRunningIde({ io, signal }: Pick<CommandContext, "io" | "signal">): Promise<string> {
  const { ides } = await withFinder(io, {}, (finder) => finder.find(signal));
  const ide = ides.find(({ variant, identity }) => variant !== "antigravity" && identity.extensionPath !== "");
  if (ide !== undefined) return join(ide.identity.extensionPath, "dist", "extension.js");
  const message = "Millrace found no running Devin Desktop (formerly Windsurf) with a readable extension.";
  throw new MillraceError("ide_not_running", message, { hint: "Name the file: --file <path to extension.js>." });
}

/** How many of a kind are listed unless all are asked for. */
const listed = 20;
const severity: readonly SchemaDifference["kind"][] = ["missing", "changed", "moved"];
const meanings = {
  same: "the same fields and numbers; nothing has to be translated",
  moved: "some numbers moved; the build's own are used",
  broken: "something that Millrace needs is missing",
} as const;

/**
 * Compares a build's schema with Millrace's, as lines: first missing fields that Millrace needs, then other missing, changed and
 * moved fields, models that Millrace's enum does not have, and places that could not be read.
 */
function describeBuild(
  path: string,
  schema: BuildSchema,
  newModels: readonly { readonly name: string; readonly number: number }[],
  all: boolean,
): readonly string[] {
  const { verdict, differences } = schema.reconciliation;
  const most = all ? Number.POSITIVE_INFINITY : listed;
  const section = (title: string, what: string, items: readonly string[]) =>
    items.length === 0 ? [] : [`${title.padEnd(10)}${what}`, ...cut(items, most)];
  const counts = severity.map((kind) => ({ kind, count: differences.filter((one) => one.kind === kind).length }));
  const said = counts.filter(({ count }) => count > 0).map(({ kind, count }) => `${count} ${kind}`);
  const sorted = differences.toSorted((a, b) => rank(a) - rank(b)).map(describeDifference);
  const models = newModels.map(({ name, number }) => `  ${name} = ${number}`);
  const problems = schema.problems.map(({ where, what }) => `  ${where}: ${what}`);
  return [
    `file      ${path}`,
    `sha256    ${schema.digest}`,
    `holds     ${countTypes(schema)}`,
    `verdict   ${meanings[verdict]}`,
    ...section("differs", said.join(", "), sorted),
    ...section("models", `${models.length} that Millrace does not know by name`, models),
    ...section("unread", `${spellCount(problems.length, "place")} could not be read for certain`, problems),
  ];
}

function countTypes({ registry }: BuildSchema): string {
  const types = [...registry].filter(({ typeName }) => !typeName.startsWith("google.protobuf."));
  const count = (kind: "message" | "enum" | "service") => types.filter((type) => type.kind === kind).length;
  return (["message", "enum", "service"] as const).map((kind) => spellCount(count(kind), kind)).join(", ");
}

function rank({ loadBearing, kind }: SchemaDifference): number {
  return (loadBearing ? 0 : severity.length) + severity.indexOf(kind);
}

function describeDifference({ where, kind, ours, theirs, loadBearing }: SchemaDifference): string {
  const values = ours === undefined ? "" : ` (${ours} here, ${theirs ?? "none"} there)`;
  return `  ${kind.padEnd(8)} ${where}${values}${loadBearing ? ", which Millrace needs" : ""}`;
}

function cut(lines: readonly string[], most: number): readonly string[] {
  if (lines.length <= most) return lines;
  return [...lines.slice(0, most), `  and ${lines.length - most} more; --all lists them`];
}
