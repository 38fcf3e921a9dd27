import { cutStartTo, cutTo, displayWidth, padEndTo, padStartTo } from "./display-width.ts";
import { visible } from "./foreign-text.ts";
import type { Output } from "./output.ts";

/** A column of a table. */
export interface Column {
  readonly title: string;
  /** Columns with the highest number leave first when a terminal is too narrow; one without a number stays. */
  readonly drop?: number;
  readonly align?: "right";
  /** It may be cut to so many columns of the terminal before another column leaves. */
  readonly narrow?: number;
  /** Cut at its start: the end of a path says which one it is. */
  readonly keepsEnd?: boolean;
  /** Cut only where nothing else helps: an id that is cut cannot be copied. */
  readonly whole?: boolean;
}

const gap = 2;

/**
 * Prints a table with a header. A line end in a cell becomes a blank. On a terminal it is never wider than that: columns with `narrow` are cut that far, then the least
 * important columns leave, then the widest is cut. With `wide`, in a pipe and in a file every column is whole.
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
        const cell = (column.keepsEnd === true ? cutStartTo : cutTo)(row[at] ?? "", width);
        return column.align === "right" ? padStartTo(cell, width) : padEndTo(cell, width);
      })
      .join(" ".repeat(gap))
      .trimEnd();
  out.line(out.style("bold", line(columns.map(({ title }) => title))));
  for (const row of rows) out.line(line(row));
}

type PlacedColumns = readonly { readonly column: Column; readonly at: number }[];

/** The columns that stay. Narrows those in `widths` that must be. */
function fit(used: PlacedColumns, widths: Map<number, number>, room: number): PlacedColumns {
  let shown = used;
  const widthOf = ({ at }: { readonly at: number }) => widths.get(at) ?? 0;
  const widestOf = (columns: PlacedColumns) => columns.reduce((a, b) => (widthOf(b) > widthOf(a) ? b : a));
  for (;;) {
    const over = shown.reduce((sum, column) => sum + widthOf(column), gap * (shown.length - 1)) - room;
    if (over <= 0) return shown;
    const soft = shown.filter((each) => widthOf(each) > (each.column.narrow ?? Number.POSITIVE_INFINITY));
    const slack = soft.reduce((sum, each) => sum + widthOf(each) - (each.column.narrow ?? 0), 0);
    const [least] = shown
      .filter(({ column }) => column.drop !== undefined)
      .toSorted((a, b) => (b.column.drop ?? 0) - (a.column.drop ?? 0));
    if (slack < over && least !== undefined) {
      shown = shown.filter((column) => column !== least);
      continue;
    }
    const elastic = slack >= over ? soft : shown.filter(({ column }) => column.whole !== true);
    const widest = widestOf(elastic.length > 0 ? elastic : shown);
    if (widthOf(widest) > 1) widths.set(widest.at, widthOf(widest) - 1);
    else if (shown.length < 2) return shown;
    else shown = shown.filter((column) => column !== widest); // narrower than its id: only that stays
  }
}
