import type { ModelsEnvelope } from "../../src/gateway/dashboard/inventory.ts";
import { commonName } from "../../src/models/common-name.ts";

export type Model = ModelsEnvelope["data"][number];

/** Models that differ in effort, speed or context alone. */
export interface Family {
  /** What a request can call it: alone, or with a variant behind it. */
  readonly name: string;
  readonly models: readonly Model[];
}

/** The models that match, by family, in the gateway's order: a family stands where its first model stood. */
export function familiesOf(models: readonly Model[], search: string): readonly Family[] {
  const wanted = search.trim().toLowerCase();
  const matching = models.filter(({ name, label, vendor }) =>
    [name, label, vendor].some((text) => text.toLowerCase().includes(wanted)),
  );
  const groups = Map.groupBy(matching, (model) => model.family ?? model.name.split(":")[0] ?? model.name);
  return [...groups.values()].map((models) => ({ name: commonName(models.map(({ name }) => name)), models }));
}

/** `4×`, or `1× – 4×` where models differ; nothing where no model's value is known. */
export function rangeOf(
  models: readonly Model[],
  valueOf: (model: Model) => number | null,
  write: (value: number) => string,
): string | undefined {
  const values = models.flatMap((model) => valueOf(model) ?? []);
  if (values.length === 0) return undefined;
  const [from, to] = [write(Math.min(...values)), write(Math.max(...values))];
  return from === to ? from : `${from} – ${to}`;
}

/** Families by a value of theirs; those without one stay last in both orders, and equal ones in their order. */
export function sortedBy(
  families: readonly Family[],
  valueOf: (models: readonly Model[]) => number | string | undefined,
  descending: boolean,
): readonly Family[] {
  const known = families.flatMap((family) => {
    const value = valueOf(family.models);
    return value === undefined ? [] : [{ family, value }];
  });
  const sign = descending ? -1 : 1;
  known.sort((a, b) => sign * (a.value < b.value ? -1 : a.value > b.value ? 1 : 0));
  return [...known.map(({ family }) => family), ...families.filter(({ models }) => valueOf(models) === undefined)];
}
