/** One part of a list, `2/3` the second of three: every third item, so that the parts take about as long. All where not said. */
export function part<T>(items: readonly T[], wanted = "1/1"): readonly T[] {
  const [, nth = "", of = ""] = /^(\d+)\/(\d+)$/.exec(wanted) ?? [];
  const [place, parts] = [Number(nth), Number(of)];
  if (place < 1 || place > parts) throw new Error(`"${wanted}" is no part; give 1/3, 2/3 or 3/3.`);
  return items.filter((_, i) => i % parts === place - 1);
}

/** A table as Markdown has it. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A small random generator with a seed (mulberry32): 0 to 1. */
export function generator(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
