import type { KeyRecord } from "./key-record.ts";

/**
 * Merges two copies of the keys. If both have a key, the newer state wins, and a revoked key stays revoked. A key that only
 * `added` has is added. If its name is in use, the name gets a number, so that its client is not locked out.
 */
export function mergeKeys(base: readonly KeyRecord[], added: readonly KeyRecord[]): readonly KeyRecord[] {
  const others = new Map(added.map((key) => [key.id, key]));
  const merged = base.map((key) => newer(key, others.get(key.id)));
  const known = new Set(base.map(({ id }) => id));
  const taken = new Set(merged.filter(works).map(({ name }) => name));
  for (const key of added.filter(({ id }) => !known.has(id))) {
    const name = works(key) ? freeName(key.name, taken) : key.name;
    merged.push(name === key.name ? key : { ...key, name, revision: (key.revision ?? 0) + 1 });
    if (works(key)) taken.add(name);
  }
  return merged;
}

function newer(key: KeyRecord, other: KeyRecord | undefined): KeyRecord {
  if (other === undefined) return key;
  if (works(key) !== works(other)) return works(key) ? other : key;
  return (other.revision ?? 0) > (key.revision ?? 0) ? other : key;
}

function works({ revokedAtMs }: KeyRecord): boolean {
  return revokedAtMs === undefined;
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}-${number}`;
  return free;
}
