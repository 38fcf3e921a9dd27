import type { Model } from "./model.ts";

/** The names of the `count` models whose name, UID or label is fewest edits away, nearest first. */
export function nearestNames(asked: string, models: readonly Model[], count: number): readonly string[] {
  const text = asked.slice(0, 80).toLowerCase();
  return models
    .filter((model) => model.disabledReason === undefined)
    .map((model) => {
      const spellings = [model.name, model.uid, model.label].map((spelling) => spelling.toLowerCase());
      return { name: model.name, distance: Math.min(...spellings.map((spelling) => editDistance(text, spelling))) };
    })
    .sort((a, b) => a.distance - b.distance)
    .slice(0, count)
    .map(({ name }) => name);
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
