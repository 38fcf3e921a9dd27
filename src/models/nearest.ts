import type { Model } from "./model.ts";
import { shapeOf } from "./model-shape.ts";

/**
 * The names of the `count` models nearest to the requested name, nearest first. The model whose name, UID or label shares most words
 * comes first (`opus` is nearer to `claude-opus-4.7` than to `gpt-5`); of equals, the one with the fewest edits. If a model shares
 * a word of its family with the request (`gpt5`: `gpt`), only such models are returned, which may be fewer; none where no name is near.
 */
export function nearestNames(asked: string, models: readonly Model[], count: number): readonly string[] {
  const text = asked.slice(0, 80).toLowerCase();
  const callable = models.filter(
    ({ name, disabledReason }) => disabledReason === undefined && !name.startsWith("MODEL_"),
  ); // such a slot says nothing about what it is
  const family = callable.filter((model) => spellingsOf(model).some((spelling) => sharesFamily(text, spelling)));
  return (family.length > 0 ? family : callable)
    .map((model) => {
      const spellings = spellingsOf(model);
      return {
        name: model.name,
        likeness: Math.max(...spellings.map((spelling) => likenessOfWords(text, spelling))),
        distance: Math.min(...spellings.map((spelling) => editDistance(text, spelling))),
      };
    })
    .filter(({ likeness, distance }) => likeness > 0 || distance <= text.length / 2)
    .sort((a, b) => b.likeness - a.likeness || a.distance - b.distance)
    .slice(0, count)
    .map(({ name }) => name);
}

function spellingsOf({ name, uid, label }: Model): readonly string[] {
  return [name, uid, label].map((spelling) => spelling.toLowerCase());
}

/** Whether a word of the one's family is, perhaps misspelt, one of the other's. */
function sharesFamily(asked: string, text: string): boolean {
  const words = familyWords(text);
  return familyWords(asked).some((word) => words.some((other) => likeness(word, other) > 0));
}

/** The words before the variant, without numbers and single letters: `gpt` of `gpt-5:high`. */
function familyWords(text: string): readonly string[] {
  return wordsOf(shapeOf(text).base).filter((word) => /^[a-z]{2,}$/.test(word) && word !== "model");
}

/** How much of the words of `asked` is in `text`, misspelt words in part: 0 to 1. */
function likenessOfWords(asked: string, text: string): number {
  const words = wordsOf(text);
  const wanted = wordsOf(asked);
  if (wanted.length === 0) return 0;
  const best = wanted.map((word) => Math.max(0, ...words.map((other) => likeness(word, other))));
  return best.reduce((sum, value) => sum + value, 0) / wanted.length;
}

/** Two edits in five characters are the most that still count as the same word. */
function likeness(a: string, b: string): number {
  const share = 1 - editDistance(a, b) / Math.max(a.length, b.length);
  return share < 0.6 ? 0 : share;
}

function wordsOf(text: string): readonly string[] {
  return text.match(/[a-z]+|\d+/g) ?? [];
}

/** How many characters must be put in, taken out or replaced to make one text of the other (Levenshtein). */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
