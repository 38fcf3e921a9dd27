import type { BuildSchema } from "../../schema/open-schemas.ts";
import type { SchemaDifference } from "../../schema/reconcile.ts";
import { spellCount } from "../doctor/spell.ts";

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
export function describeBuild(
  path: string,
  schema: BuildSchema,
  newModels: readonly { readonly name: string; readonly number: number }[],
  all: boolean,
): readonly string[] {
  const { verdict, differences } = schema.reconciliation;
  const most = all ? Number.POSITIVE_INFINITY : listed;
  const lines = [
    `file      ${path}`,
    `sha256    ${schema.digest}`,
    `holds     ${countTypes(schema)}`,
    `verdict   ${meanings[verdict]}`,
  ];
  if (differences.length > 0) {
    const counts = severity.map((kind) => ({ kind, count: differences.filter((one) => one.kind === kind).length }));
    const said = counts.filter(({ count }) => count > 0).map(({ kind, count }) => `${count} ${kind}`);
    const sorted = differences.toSorted((a, b) => rank(a) - rank(b));
    lines.push(`differs   ${said.join(", ")}`, ...cut(sorted.map(describeDifference), most));
  }
  if (newModels.length > 0) {
    lines.push(`models    ${newModels.length} that Millrace does not know by name`);
    lines.push(
      ...cut(
        newModels.map(({ name, number }) => `  ${name} = ${number}`),
        most,
      ),
    );
  }
  if (schema.problems.length > 0) {
    lines.push(`unread    ${spellCount(schema.problems.length, "place")} could not be read for certain`);
    lines.push(
      ...cut(
        schema.problems.map(({ where, what }) => `  ${where}: ${what}`),
        most,
      ),
    );
  }
  return lines;
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
