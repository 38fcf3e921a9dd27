import type { AccountModel } from "./account-models.ts";
import { shapeOf, withoutDate } from "./model-shape.ts";

/** The names of families that stand for their newest model, as the vendor's own program reads them. Source: docs/dev/wire/account.md, "Short names". */
const shortNames: ReadonlySet<string> = new Set(["opus", "sonnet", "haiku", "swe", "gpt", "codex", "gemini"]);

/** Smaller models, and previews of a size: the short name of a family means them only where it has nothing else. */
const lesser: ReadonlySet<string> = new Set(["mini", "nano", "lite", "flash", "oss", "turbo", "slow"]);

interface Candidate {
  readonly base: string;
  readonly version: readonly number[];
  /** Words beside the family and its version. */
  readonly extra: readonly string[];
}

/**
 * The family and version that a short name means among these models: `opus` or `claude-opus` → `claude-opus-4-7`. Undefined for any other name, and where
 * no model may be called. Of equal versions, the one with the fewest other words, then the first of the list.
 */
export function newestOf(models: readonly AccountModel[], name: string): string | undefined {
  const word = shortName(name);
  if (word === undefined) return undefined;
  const candidates = models
    .filter(({ disabledReason }) => disabledReason === undefined)
    .flatMap((model) => candidateOf(shapeOf(model.name).base, word) ?? []);
  const full = candidates.filter(({ extra }) => !extra.some((other) => lesser.has(other)));
  const [best] = (full.length > 0 ? full : candidates).toSorted(
    (a, b) => compareVersions(b.version, a.version) || a.extra.length - b.extra.length,
  );
  return best?.base;
}

function shortName(name: string): string | undefined {
  const word = name
    .trim()
    .toLowerCase()
    .replace(/^claude-(?=(?:opus|sonnet|haiku)$)/, "");
  return shortNames.has(word) ? word : undefined;
}

/** Whether a name means this model: in any spelling; without an effort, in each one; as the short name of its family, in each version. */
export function covers(name: string, modelName: string): boolean {
  const [asked, own, word] = [shapeOf(withoutDate(name)), shapeOf(modelName), shortName(name)];
  if (word !== undefined) return candidateOf(own.base, word) !== undefined;
  const isEffort = asked.effort === undefined || asked.effort === (own.effort ?? "medium");
  return asked.base === own.base && asked.lanes === own.lanes && isEffort;
}

/** A base that has the word, with its version behind the word or else before it; a base of another short name is no candidate. */
function candidateOf(base: string, word: string): Candidate | undefined {
  const tokens = base.split("-");
  const at = tokens.indexOf(word);
  if (at < 0) return undefined;
  const behind = tokens.slice(at + 1);
  const end = behind.findIndex((token) => !isVersion(token));
  const after = end < 0 ? behind : behind.slice(0, end);
  const version = (after.length > 0 ? after : tokens.filter(isVersion)).map((token) => Number.parseInt(token, 10));
  const extra = tokens.filter((token) => token !== word && !isVersion(token) && token !== "claude");
  const isOthers = extra.some((token) => shortNames.has(token) && !(word === "codex" && token === "gpt"));
  return isOthers ? undefined : { base, version, extra };
}

/** Whether a word of a name is a part of its version: `4`, `4o`. */
export function isVersion(token: string): boolean {
  return /^\d{1,2}[a-z]?$/.test(token);
}

/** Negative where `a` is the older one. */
export function compareVersions(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
