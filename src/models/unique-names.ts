import type { Catalogue } from "./catalogue.ts";
import { isPrivate, modelName, numberOfUid } from "./model-name.ts";

/**
 * A name for each UID of a list, by its UID and label. No two models share a name, in any case of letters, and no name is the UID of
 * another model. If two models want one name, the older one has it; the other one is told apart by "thinking" where only its label says
 * that, else its UID is its name. So names do not depend on the order of the list, and new models do not rename old ones.
 */
export function uniqueNames(labels: ReadonlyMap<string, string>, catalogue: Catalogue): Map<string, string> {
  const wanted = [...labels]
    .map(([uid, label]) => ({ uid, label, name: modelName(uid, label, catalogue) }))
    .toSorted(olderFirst);
  const owners = new Map(wanted.map(({ uid }) => [uid.toLowerCase(), uid]));
  const taken = new Set<string>();
  const names = new Map<string, string>();
  for (const { uid, label, name } of wanted) {
    const isFree = (candidate: string) => {
      const lower = candidate.toLowerCase();
      return !taken.has(lower) && (owners.get(lower) ?? uid) === uid;
    };
    let free = [name, thinkingName(name, label), uid].find((candidate) => candidate !== undefined && isFree(candidate));
    for (let i = 2; free === undefined; i++) free = isFree(`${uid}#${i}`) ? `${uid}#${i}` : undefined; // a UID that differs from another in case alone
    taken.add(free.toLowerCase());
    names.set(uid, free);
  }
  return names;
}

interface WantedName {
  readonly uid: string;
  readonly name: string;
}

/** Numbers are older than UIDs of words, and slots of the account come after other numbers, because the same label may be a copy there. */
function olderFirst(a: WantedName, b: WantedName): number {
  return age(a) - age(b) || (a.uid < b.uid ? -1 : 1);
}

/** Of two UIDs of words, the one that spells the name is taken for the original. */
function age({ uid, name }: WantedName): number {
  if (isPrivate(uid)) return 1e6 + Number(/\d+$/.exec(uid)?.[0]);
  const number = numberOfUid(uid);
  if (number !== undefined) return number;
  return uid === name.replaceAll(/[.:]/g, "-") ? 1e7 : 1e8;
}

function thinkingName(name: string, label: string): string | undefined {
  if (!/\bthinking\b/i.test(label) || /\bno thinking\b/i.test(label) || name.includes("thinking")) return undefined;
  return `${name}${name.includes(":") ? "-" : ":"}thinking`;
}
