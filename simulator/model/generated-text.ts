const subjects = ["The channel", "A steady stream", "The wheel", "Each stone", "The miller", "Clear water"];
const verbs = ["carries", "turns", "feeds", "follows", "measures", "moves"];
const objects = [
  "the old mill",
  "a heavy beam",
  "the lower gate",
  "every sack of grain",
  "the quiet pond",
  "its own weight",
];

/** Sentences without end, always the same ones. */
function sentence(i: number): string {
  const subject = subjects[i % subjects.length] ?? "";
  const verb = verbs[(i * 5 + Math.floor(i / 6)) % verbs.length] ?? "";
  const object = objects[(i * 7 + Math.floor(i / 36)) % objects.length] ?? "";
  return `${subject} ${verb} ${object}.`;
}

/** Plain prose of exactly `length` characters. */
export function prose(length: number): string {
  const parts: string[] = [];
  for (let size = 0, i = 0; size <= length; i++) {
    const next = sentence(i);
    parts.push(next);
    size += next.length + 1;
  }
  return parts.join(" ").slice(0, length);
}
