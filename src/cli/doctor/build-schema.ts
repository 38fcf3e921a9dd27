import { join } from "node:path";
import { MillraceError } from "../../base/errors.ts";
import { productToday } from "../../base/ide-name.ts";
import { ModelSchema } from "../../proto/windsurf/exa/codeium_common_pb.ts";
import { ourTypes } from "../../schema/build-types.ts";
import { type BuildSchema, openSchemas } from "../../schema/open-schemas.ts";
import type { SchemaDifference } from "../../schema/reconcile.ts";
import type { CommandContext } from "../command.ts";
import { withFinder } from "../compose/compose-ide.ts";

/**
 * Compares the protobuf schema in an IDE's `extension.js` with Millrace's, and prints the differences. As JSON it also exports the numbers
 * of the messages and enums that Millrace uses, and the models.
 *
 * @throws MillraceError `ide_not_running` without a file and a running IDE; `invalid_request` for a file that is no bundle.
 */
export async function showBuildSchema(
  options: { readonly file: string | undefined; readonly all: boolean; readonly json: boolean },
  context: CommandContext,
): Promise<void> {
  const { out, signal } = context;
  const file = options.file ?? (await bundleOfRunningIde(context));
  const schema = await openSchemas().read(file, signal);
  const known = new Set(ModelSchema.values.map(({ name }) => name));
  const { messages, enums } = schema.types;
  const models = [...(enums.get(ModelSchema.typeName) ?? [])].map(([name, number]) => ({ name, number }));
  const newModels = models.filter(({ name }) => !known.has(name));
  if (options.json) {
    const { verdict, differences } = schema.reconciliation;
    const numbers = Object.fromEntries(
      [...messages].map(([name, fields]) => [
        name,
        Object.fromEntries([...fields].map(([key, { number }]) => [key, number])),
      ]),
    );
    const values = Object.fromEntries([...enums].map(([name, own]) => [name, Object.fromEntries(own)]));
    const read = { messages: numbers, enums: values };
    return out.json({ file, sha256: schema.digest, verdict, differences, newModels, models, ...read });
  }
  for (const line of describeBuild(file, schema, newModels, options.all)) out.line(line);
}

async function bundleOfRunningIde({ io, signal }: Pick<CommandContext, "io" | "signal">): Promise<string> {
  const { ides } = await withFinder(io, {}, (finder) => finder.find(signal));
  const ide = ides.find(({ variant, identity }) => variant !== "antigravity" && identity.extensionPath !== "");
  if (ide !== undefined) return join(ide.identity.extensionPath, "dist", "extension.js");
  const message = `Millrace found no running ${productToday} with a readable extension.`;
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
 * moved fields, and models that Millrace's enum does not have.
 */
function describeBuild(
  path: string,
  schema: BuildSchema,
  newModels: readonly { readonly name: string; readonly number: number }[],
  all: boolean,
): readonly string[] {
  const { verdict, differences } = schema.reconciliation;
  const { messages, enums } = schema.types;
  const most = all ? Number.POSITIVE_INFINITY : listed;
  const section = (title: string, what: string, items: readonly string[]) =>
    items.length === 0 ? [] : [`${title.padEnd(10)}${what}`, ...cut(items, most)];
  const counts = severity.map((kind) => ({ kind, count: differences.filter((one) => one.kind === kind).length }));
  const said = counts.filter(({ count }) => count > 0).map(({ kind, count }) => `${count} ${kind}`);
  const sorted = differences.toSorted((a, b) => rank(a) - rank(b)).map(describeDifference);
  const models = newModels.map(({ name, number }) => `  ${name} = ${number}`);
  return [
    `file      ${path}`,
    `sha256    ${schema.digest}`,
    `holds     ${messages.size + enums.size} of the ${ourTypes().length} types that Millrace uses`,
    `verdict   ${meanings[verdict]}`,
    ...section("differs", said.join(", "), sorted),
    ...section("models", `${models.length} that Millrace does not know by name`, models),
  ];
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
