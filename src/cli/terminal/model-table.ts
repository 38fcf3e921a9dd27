import { commonName } from "../../models/common-name.ts";
import type { Model } from "../../models/model.ts";
import { shapeOf } from "../../models/model-shape.ts";
import type { Column } from "./table.ts";

/** Models of one family: the common part of their names, and each one's addition. */
export interface ModelFamily {
  /** A name that requests can use, alone or with a variant behind it: `claude-opus-4.7`. */
  readonly name: string;
  readonly members: readonly Model[];
  /** The member that the name alone means; undefined where it needs a variant. */
  readonly plain: Model | undefined;
}

/** The columns of `familyRow`; those of `modelRow` lack the variants. */
export const familyColumns: readonly Column[] = [
  { title: "NAME", whole: true },
  { title: "VARIANTS", drop: 1 },
  { title: "VENDOR", drop: 5 },
  { title: "CONTEXT", drop: 3 },
  { title: "COST", drop: 2 },
  { title: "TIER", drop: 6 },
  { title: "INPUT", drop: 7 },
  { title: "BACKEND", drop: 8 },
  { title: "NOTES", drop: 4 },
];
export const modelColumns = familyColumns.filter(({ title }) => title !== "VARIANTS");

/** `means` answers which model a name resolves to, if it is among the given ones. Families stand where their first model stood. */
export function familiesOf(
  models: readonly Model[],
  means: (name: string) => Model | undefined,
): readonly ModelFamily[] {
  const groups = new Map<string, Model[]>();
  for (const model of models) {
    const base = `${model.vendor} ${shapeOf(model.name).base}`;
    const group = groups.get(base);
    if (group === undefined) groups.set(base, [model]);
    else group.push(model);
  }
  return [...groups.values()].map((members) => {
    const name = commonName(members.map((member) => member.name));
    const meant = means(name);
    return { name, members, plain: members.find((member) => member.uid === meant?.uid) };
  });
}

/** One row for a family: ranges where its members differ. */
export function familyRow({ name, members, plain }: ModelFamily): readonly string[] {
  const variants = members.filter((member) => member.name !== name);
  const behind = (whole: string) => (whole.startsWith(name) ? whole.slice(name.length) : whole);
  const shown = variants.map((member) => `${behind(member.name)}${member === plain ? "*" : ""}`);
  const newOnes = members.filter((member) => member.isNew);
  const marks = [
    members.some((member) => member.isDefault) ? "default" : "",
    newOnes.length === 0 ? "" : newOnes.length === members.length ? "new" : `${newOnes.length} new`,
  ];
  return [
    name,
    variantsCell(shown),
    members[0]?.vendor ?? "",
    range(members, (model) => model.contextTokens, tokens),
    range(members, (model) => model.creditMultiplier, credits),
    tierRange(members),
    members.some((member) => member.supportsImages) ? "images" : "",
    [...new Set(members.flatMap(({ backend }) => backend ?? []))].join(", "),
    marks.filter((mark) => mark !== "").join(", "),
  ];
}

/** All variants if they are short enough for a terminal of 80 columns; else their number, and the one that the name alone means. */
function variantsCell(shown: readonly string[]): string {
  const all = shown.join(" ");
  if (all.length <= 40) return all;
  return [`${shown.length} variants`, ...shown.filter((variant) => variant.endsWith("*"))].join(", ");
}

/** One row for one model, by its whole name, without the column of variants. */
export function modelRow(model: Model): readonly string[] {
  const [name = "", , ...cells] = familyRow({ name: model.name, members: [model], plain: model });
  const reason = model.disabledReason === undefined ? "" : `not callable: ${model.disabledReason}`;
  const marks = [cells.at(-1) ?? "", reason].filter((mark) => mark !== "").join(", ");
  return [name, ...cells.slice(0, -1), marks];
}

/** The IDE does not say. */
const unknown = "-";

const tiers = ["free", "low", "medium", "high"] as const;

function tierRange(models: readonly Model[]): string {
  const ranks = models.flatMap(({ costTier }) => (costTier === undefined ? [] : [tiers.indexOf(costTier)]));
  if (ranks.length === 0) return unknown;
  return fromTo(tiers[Math.min(...ranks)] ?? "", tiers[Math.max(...ranks)] ?? "");
}

function range(
  models: readonly Model[],
  valueOf: (model: Model) => number | undefined,
  write: (value: number) => string,
): string {
  const values = models.flatMap((model) => valueOf(model) ?? []);
  return values.length === 0 ? unknown : fromTo(write(Math.min(...values)), write(Math.max(...values)));
}

function fromTo(from: string, to: string): string {
  return from === to ? from : `${from} - ${to}`;
}

function tokens(count: number): string {
  return count < 1_000_000 ? `${Math.round(count / 1000)}k` : `${Number((count / 1_000_000).toFixed(2))}M`;
}

function credits(multiplier: number): string {
  return multiplier === 0 ? "free" : `${multiplier}x`;
}
