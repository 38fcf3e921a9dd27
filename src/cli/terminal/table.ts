import { cutTo, displayWidth, padEndTo, padStartTo } from "./display-width.ts";
import { visible } from "./foreign-text.ts";
import type { Output } from "./output.ts";

/** A column of a table. */
export interface Column {
  readonly title: string;
  /** Columns with the highest number leave first when a terminal is too narrow; one without a number stays. */
  readonly drop?: number;
  readonly align?: "right";
  /** Cut only where nothing else helps: an id that is cut cannot be copied. */
  readonly whole?: boolean;
}

const gap = 2;
/** A column is cut no further than this before the next column leaves. */
const narrowest = 8;

/**
 * Prints a table with a header. A line end in a cell becomes a blank. On a terminal it is never wider than that: the least important columns leave first, then the widest
 * column is cut. With `wide`, in a pipe and in a file every column is whole.
 */
export function printTable(
  columns: readonly Column[],
  cells: readonly (readonly string[])[],
  out: Pick<Output, "line" | "style" | "isTerminal" | "columns">,
  wide = false,
): void {
  const rows = cells.map((row) => row.map((cell) => visible(cell).replace(/\s+/g, " ")));
  const used = columns
    .map((column, at) => ({ column, at }))
    .filter(({ at }) => rows.some((row) => (row[at] ?? "") !== ""));
  const widthOf = (at: number, title: string) =>
    Math.max(displayWidth(title), ...rows.map((row) => displayWidth(row[at] ?? "")));
  const widths = new Map(used.map(({ column, at }) => [at, widthOf(at, column.title)]));
  const room = out.isTerminal && !wide ? out.columns : Number.POSITIVE_INFINITY;
  const shown = fit(used, widths, room);
  const line = (row: readonly string[]) =>
    shown
      .map(({ column, at }) => {
        const width = widths.get(at) ?? 0;
        const cell = cutTo(row[at] ?? "", width);
        return column.align === "right" ? padStartTo(cell, width) : padEndTo(cell, width);
      })
      .join(" ".repeat(gap))
      .trimEnd();
  out.line(out.style("bold", line(columns.map(({ title }) => title))));
  for (const row of rows) out.line(line(row));
}

type PlacedColumns = readonly { readonly column: Column; readonly at: number }[];

/** The columns that stay. Narrows the widest one in `widths` where nothing else helps. */
function fit(used: PlacedColumns, widths: Map<number, number>, room: number): PlacedColumns {
  let shown = used;
  const total = () => shown.reduce((sum, { at }) => sum + (widths.get(at) ?? 0), 0) + gap * (shown.length - 1);
  while (total() > room) {
    const elastic = shown.filter(({ column }) => column.whole !== true);
    const widest = (elastic.length > 0 ? elastic : shown).reduce((a, b) =>
      (widths.get(b.at) ?? 0) > (widths.get(a.at) ?? 0) ? b : a,
    );
    const width = widths.get(widest.at) ?? 0;
    const cut = width - (total() - room);
    const next = shown
      .filter(({ column }) => column.drop !== undefined)
      .toSorted((a, b) => (b.column.drop ?? 0) - (a.column.drop ?? 0))[0];
    const staysReadable = widest.column.whole !== true && cut >= Math.max(narrowest, width * 0.7);
    if (next !== undefined && !staysReadable) {
      shown = shown.filter((column) => column !== next);
      continue;
    }
    if (width <= 1) {
      if (shown.length < 2) break;
      shown = shown.filter((column) => column !== widest); // narrower than its id: only that stays
    } else widths.set(widest.at, staysReadable ? cut : width - 1);
  }
  return shown;
}
