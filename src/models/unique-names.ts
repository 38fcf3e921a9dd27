import type { Catalogue } from "./catalogue.ts";
import { isPrivate, modelName } from "./model-name.ts";

/**
 * A name for each UID of a list, by its UID and label. If two models have one name, the model whose UID describes it keeps the name,
 * and the slot of the account gets its UID as name. A name is never the UID of another model. Names do not differ by case alone.
 */
export function uniqueNames(labels: ReadonlyMap<string, string>, catalogue: Catalogue): Map<string, string> {
  const uids = [...labels.keys()];
  const owners = new Map(uids.map((uid) => [uid.toLowerCase(), uid]));
  const taken = new Set<string>();
  const names = new Map<string, string>();
  for (const uid of [...uids.filter((u) => !isPrivate(u)), ...uids.filter(isPrivate)]) {
    const isFree = (name: string) => {
      const lower = name.toLowerCase();
      return !taken.has(lower) && (owners.get(lower) ?? uid) === uid;
    };
    let name = modelName(uid, labels.get(uid) ?? "", catalogue);
    for (let i = 1; !isFree(name); i++) name = i === 1 ? uid : `${uid}#${i}`;
    taken.add(name.toLowerCase());
    names.set(uid, name);
  }
  return names;
}
