import { diffArrays } from "diff";

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

function diffAll(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  return diffArrays([...before], [...after]).flatMap(({ added, removed, value }) => {
    const mark = added ? "+" : removed ? "-" : " ";
    return value.map((text) => ({ mark, text }) as const);
  });
}
