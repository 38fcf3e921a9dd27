import type { ModelsEnvelope } from "../../src/gateway/dashboard/inventory.ts";
import { commonName } from "../../src/models/common-name.ts";

export type Model = ModelsEnvelope["data"][number];

/** Models that differ in effort, speed or context alone. */
interface Family {
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
