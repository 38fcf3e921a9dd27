import { type Effort, efforts, parseEffort, splitEffort } from "../base/effort.ts";
import { MillraceError } from "../base/errors.ts";
import { shortened } from "../base/shown-text.ts";
import type { AccountModel } from "./account-models.ts";
import type { Resolution } from "./model.ts";
import { lanesOf, type ModelShape, shapeKey, shapeOf, withoutDate } from "./model-shape.ts";
import { nearestNames } from "./nearest.ts";
import { newestOf } from "./newest.ts";

type Rule = Resolution["rule"];

interface NameMatch {
  readonly model: AccountModel;
  readonly rule: Rule;
  /** The asked name says which effort, so that a request's effort does not change it. */
  readonly effortNamed: boolean;
}

const longestName = 200;
/** So much of a name is shown in an error. */
const mostShown = 80;

/** @throws MillraceError `unknown_model` for a name that is too long for any model, before anything is compared with it. */
export function refuseLongName(asked: string): void {
  if (asked.length <= longestName) return;
  const message = `No model has a name of more than ${longestName} characters: "${shortened(asked, mostShown)}".`;
  throw new MillraceError("unknown_model", message, {
    param: "model",
    details: { asked: shortened(asked, mostShown), nearest: [] },
  });
}

/** For the error about an unknown name: whose models they are, and all models that could have been meant. */
export interface UnknownWords {
  readonly owner: string;
  readonly all: () => readonly AccountModel[];
}

/**
 * Resolves a name among the models of an account, in a fixed order: exact UID; name; name with its variant (`name:variant`,
 * `name-variant`, and the bare name of a family that marks a default or has a medium); alias (label, Claude's words in either order or
 * without "claude", vendor before it, date or `[1m]` behind it); the short name of a family for its newest model; enum name. Then `effort` picks the variant, unless the name already
 * does.
 *
 * @throws MillraceError `unknown_model` with the nearest three, `model_not_allowed` for a disabled one. Never a default.
 */
export function resolveModel(
  models: readonly AccountModel[],
  asked: string,
  effort: string | undefined,
  words: UnknownWords = { owner: "The account", all: () => models },
): Resolution {
  refuseLongName(asked);
  const found = find(models, asked);
  if (found === undefined) throw unknownModel(models, asked, words);
  const picked = found.effortNamed ? undefined : withEffort(models, found.model, effort);
  const model = picked ?? found.model;
  if (model.disabledReason !== undefined) throw notAllowed(model);
  return { model, asked, rule: picked === undefined ? found.rule : "effort" };
}

function find(models: readonly AccountModel[], asked: string): NameMatch | undefined {
  const name = asked.trim().replace(/:latest$/i, ""); // programs of Ollama add it
  const lower = name.toLowerCase();
  const byUid =
    models.find((m) => m.uid === name) ?? models.find((m) => m.uid.toLowerCase() === lower && !isEnum(name));
  if (byUid !== undefined) {
    const isBare = models.some(({ uid }) => uid !== byUid.uid && splitEffort(uid).model === byUid.uid); // the agent has its efforts as a separate option
    return { model: byUid, rule: "uid", effortNamed: !isBare };
  }
  const byName = models.find((m) => m.name.toLowerCase() === lower);
  if (byName !== undefined) return { model: byName, rule: "name", effortNamed: shapeOf(lower).effort !== undefined };
  const byEnum = isEnum(name) ? models.find((m) => m.enumName === name) : undefined;
  if (isEnum(name)) return byEnum === undefined ? undefined : { model: byEnum, rule: "enum", effortNamed: true };
  return (
    byShape(models, name, "variant", (m) => [m.name]) ??
    byAlias(models, name) ??
    byAlias(models, `claude-${name}`) ??
    byShortName(models, name)
  );
}

/** The newest model of a family; where it has several variants and none of them is its own default, the first one. */
function byShortName(models: readonly AccountModel[], name: string): NameMatch | undefined {
  const base = newestOf(models, name);
  if (base === undefined) return undefined;
  const found = byShape(models, base, "newest", (m) => [m.name]);
  const callable = found?.model.disabledReason === undefined ? found : undefined;
  const first = preferred(models.filter((model) => shapeOf(model.name).base === base));
  return callable ?? (first === undefined ? undefined : { model: first, rule: "newest", effortNamed: false });
}

function byAlias(models: readonly AccountModel[], name: string): NameMatch | undefined {
  const spellings = (model: AccountModel) => [model.name, ...(isEnum(model.uid) ? [] : [model.uid]), model.label];
  const dateless = withoutDate(name);
  return (
    byShape(models, name, "alias", spellings) ??
    byShape(models, dateless, "alias", spellings) ??
    byShape(models.filter(holdsMillion), dateless.replace(/\[1m\]$/i, ""), "alias", spellings)
  );
}

/** Whether the model satisfies `[1m]` without a variant for it. */
function holdsMillion(model: AccountModel): boolean {
  return (model.contextTokens ?? 0) >= 1_000_000;
}

/** The one model of this shape; failing that, of its family: the one that has the effort, else the family's own default. */
function byShape(
  models: readonly AccountModel[],
  name: string,
  rule: Rule,
  spellings: (model: AccountModel) => readonly string[],
): NameMatch | undefined {
  const shape = shapeOf(name);
  const effortNamed = shape.effort !== undefined;
  const key = shapeKey(shape);
  const exact = preferred(models.filter((model) => spellings(model).some((text) => shapeKey(shapeOf(text)) === key)));
  if (exact !== undefined) return { model: exact, rule, effortNamed };
  const family = models.filter((model) => spellings(model).some((text) => inFamily(shapeOf(text), shape)));
  const wanted = shape.effort ?? "medium";
  const flagged = effortNamed ? undefined : preferred(family.filter((model) => model.isDefaultInFamily));
  const member = flagged ?? preferred(family.filter((model) => model.effort === wanted));
  return member === undefined ? undefined : { model: member, rule, effortNamed };
}

function inFamily(candidate: ModelShape, asked: ModelShape): boolean {
  return candidate.base === asked.base && candidate.lanes === asked.lanes;
}

/** Several fit: one that may be called before one that may not, then the server's order. */
function preferred(models: readonly AccountModel[]): AccountModel | undefined {
  return models.find((model) => model.disabledReason === undefined) ?? models[0];
}

/**
 * The sibling that thinks as hard as asked, or as near to it as the family has (the lower of two). In a family that only
 * knows thinking and not thinking, `none` is the one and anything else the other. Nothing where there is no choice.
 */
function withEffort(
  models: readonly AccountModel[],
  model: AccountModel,
  asked: string | undefined,
): AccountModel | undefined {
  const effort = asked === undefined ? undefined : parseEffort(asked);
  if (effort === undefined) return undefined;
  const shape = shapeOf(model.name);
  const callable = models.filter((candidate) => candidate.disabledReason === undefined);
  const siblings = callable.filter(
    (candidate) => inFamily(shapeOf(candidate.name), shape) && candidate.effort !== undefined,
  );
  if (siblings.length > 1) {
    const nearest = nearestEffort(siblings, effort);
    return nearest?.effort === model.effort ? undefined : nearest;
  }
  const others = shape.lanes.split("-").filter((lane) => lane !== "" && lane !== "thinking");
  const lanes = lanesOf(effort === "none" ? others : [...others, "thinking"]);
  const key = shapeKey({ ...shape, lanes });
  return callable.find((candidate) => candidate !== model && shapeKey(shapeOf(candidate.name)) === key);
}

function nearestEffort(models: readonly AccountModel[], effort: Effort): AccountModel | undefined {
  const rank = (name: string | undefined) => efforts.findIndex((candidate) => candidate === name);
  const wanted = rank(effort);
  const distance = (model: AccountModel) => Math.abs(rank(model.effort) - wanted);
  return models.toSorted((a, b) => distance(a) - distance(b) || rank(a.effort) - rank(b.effort))[0];
}

function isEnum(text: string): boolean {
  return /^MODEL_[A-Z0-9_]+$/.test(text);
}

function unknownModel(models: readonly AccountModel[], asked: string, { owner, all }: UnknownWords): MillraceError {
  const shown = shortened(asked, mostShown);
  const nearest = nearestNames(asked, all(), 3);
  const message =
    models.length === 0
      ? `${owner} has no model "${shown}": its list of models is empty.`
      : `${owner} has no model "${shown}".${nearest.length === 0 ? " No name is near it." : ` Nearest: ${nearest.join(", ")}.`}`;
  return new MillraceError("unknown_model", message, { param: "model", details: { asked: shown, nearest } });
}

function notAllowed(model: AccountModel): MillraceError {
  return new MillraceError("model_not_allowed", `${model.name} cannot be used: ${model.disabledReason}.`, {
    param: "model",
    details: { uid: model.uid },
  });
}
