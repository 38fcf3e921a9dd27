import type { ModelsEnvelope } from "../../src/gateway/dashboard/inventory.ts";

export type Model = ModelsEnvelope["data"][number];

interface Family {
  readonly name: string;
  /** The one that stands for all first: the last used, else the first that can be used. */
  readonly models: readonly Model[];
}

/** The models that match, by family: those used last first, then by name; what cannot be used last. */
export function familiesOf(models: readonly Model[], search: string): readonly Family[] {
  const wanted = search.trim().toLowerCase();
  const matching = models.filter(({ name, label, vendor }) =>
    [name, label, vendor].some((text) => text.toLowerCase().includes(wanted)),
  );
  const groups = Map.groupBy(matching, (model) => model.family ?? model.name.split(":")[0] ?? model.name);
  return [...groups]
    .map(([name, group]) => ({ name, models: group.toSorted(byUse) }))
    .sort(({ models: [a] }, { models: [b] }) => (a === undefined || b === undefined ? 0 : byUse(a, b)));
}

function byUse(a: Model, b: Model): number {
  return (
    Number(a.disabled_reason !== null) - Number(b.disabled_reason !== null) ||
    (b.last_used_at ?? "").localeCompare(a.last_used_at ?? "") ||
    a.name.localeCompare(b.name)
  );
}
