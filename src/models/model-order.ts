import type { AccountModel } from "./account-models.ts";
import type { Model } from "./model.ts";
import { type ModelShape, shapeOf } from "./model-shape.ts";
import { compareVersions, isVersion } from "./newest.ts";

/**
 * Models in the order in which people look for them, in the API, the CLI and on the page: those used last, the account's default, the
 * newest of each family, then the other ones by family and the newest first; a vendor's slots without a name, and what cannot be called,
 * at the end. Families have the order of the given list. `lastUses`: epoch ms by UID.
 */
export function inOrder(models: readonly Listed[], lastUses: ReadonlyMap<string, number>): readonly Model[] {
  const known = models.map((model) => ({ model, ...partsOf(model) }));
  const families = [...Map.groupBy(known, ({ family }) => family).values()];
  const firsts = new Set(families.map((members) => firstOf(members)?.model));
  const placeOf = new Map(families.map(([member], at) => [member?.family, at]));
  const rankOf = ({ model }: Known) => {
    if (model.disabledReason !== undefined) return ranks.disabled;
    if (lastUses.has(model.uid)) return ranks.used;
    if (model.isDefault) return ranks.default;
    if (model.name.startsWith("MODEL_")) return ranks.slot;
    return firsts.has(model) ? ranks.first : ranks.other;
  };
  const lastUseOf = ({ model }: Known) => lastUses.get(model.uid) ?? 0;
  const place = ({ family }: Known) => placeOf.get(family) ?? 0;
  return known
    .map((one) => ({ ...one, rank: rankOf(one) }))
    .sort(
      (a, b) =>
        a.rank - b.rank ||
        (a.rank === ranks.used ? lastUseOf(b) - lastUseOf(a) : 0) ||
        place(a) - place(b) ||
        compareVersions(b.version, a.version),
    )
    .map(({ model }) => model);
}

const ranks = { used: 0, default: 1, first: 2, other: 3, slot: 4, disabled: 5 } as const;

/** A model, and whether its family's name alone means it, where the account says so. */
type Listed = Model & Partial<Pick<AccountModel, "isDefaultInFamily">>;

interface Known {
  readonly model: Listed;
  /** Whose it is, and the words of its name without version and variant: `gemini-pro`. */
  readonly family: string;
  readonly version: readonly number[];
  readonly shape: ModelShape;
}

function partsOf({ name, vendor }: Model): Pick<Known, "family" | "version" | "shape"> {
  const shape = shapeOf(name);
  const tokens = shape.base.split("-");
  const owner = name.slice(0, name.lastIndexOf("/") + 1); // an agent of the configuration
  return {
    family: `${owner}${vendor} ${tokens.filter((token) => !isVersion(token)).join("-")}`,
    version: tokens.filter((token) => isVersion(token)).map((token) => Number.parseInt(token, 10)),
    shape,
  };
}

/** The newest model of a family that can be called: its own default, else the one without a variant, else that of medium effort. */
function firstOf(members: readonly Known[]): Known | undefined {
  const callable = members.filter(({ model }) => model.disabledReason === undefined);
  const [newest] = callable.toSorted((a, b) => compareVersions(b.version, a.version));
  if (newest === undefined) return undefined;
  const latest = callable.filter(({ version }) => compareVersions(version, newest.version) === 0);
  return (
    latest.find(({ model }) => model.isDefaultInFamily === true) ??
    latest.find(({ shape }) => shape.effort === undefined && shape.lanes === "") ??
    latest.find(({ shape }) => shape.effort === "medium" && shape.lanes === "") ??
    newest
  );
}
