/**
 * The name of a family of models: that of the member without a variant, else what stands before the variant in most names, so that one
 * odd name does not hide the family.
 */
export function commonName(names: readonly string[]): string {
  const [first = "", ...others] = names.toSorted((a, b) => a.length - b.length);
  if (others.every((name) => name.startsWith(first))) return first;
  const stems = Map.groupBy(names, (name) => name.replace(/:.*$/, ""));
  const [stem, members] = [...stems].reduce((most, next) => (next[1].length > most[1].length ? next : most));
  return members.length * 2 > names.length ? stem : first;
}
