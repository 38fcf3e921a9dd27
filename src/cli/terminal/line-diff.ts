/** A line of a diff: kept, added or removed. */
export interface DiffLine {
  readonly mark: " " | "+" | "-";
  readonly text: string;
}

const context = 3;

/** The lines that differ between two small texts, with three lines around each change; a gap is one line `…`. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const all = diffAll(linesOf(before), linesOf(after));
  const near = all.map((_, at) =>
    all.slice(Math.max(0, at - context), at + context + 1).some(({ mark }) => mark !== " "),
  );
  return all.flatMap((line, at) => {
    if (near[at] === true) return [line];
    return near[at - 1] === true && near.slice(at).includes(true) ? [{ mark: " ", text: "…" } as const] : [];
  });
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** By the longest common subsequence: configuration files are small. */
function diffAll(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const lengths = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const row = lengths[i];
      if (row !== undefined)
        row[j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ mark: " ", text: before[i] ?? "" });
      i++;
      j++;
    } else if (i < before.length && (j >= after.length || at(i + 1, j) >= at(i, j + 1)))
      lines.push({ mark: "-", text: before[i++] ?? "" });
    else lines.push({ mark: "+", text: after[j++] ?? "" });
  }
  return lines;
}
