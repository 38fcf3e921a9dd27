import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** A stretch of one row in one style. */
export interface Run {
  readonly text: string;
  /** A colour of the terminal's first sixteen; undefined: that of plain text. */
  readonly colour: number | undefined;
  readonly bold: boolean;
  readonly dim: boolean;
}

/** One row of a screen, without the blanks at its end. */
export type Row = readonly Run[];

/** A terminal in memory: what a program writes, as rows of styled text. */
export interface Screen {
  write(data: Uint8Array | string): Promise<void>;
  /** The rows down to the cursor or the last text. */
  rows(): readonly Row[];
  /** What the terminal answers to a program that asks it. The last listener gets it. */
  onAnswer(listener: (answer: string) => void): void;
}

/** The part of the emulator that is used here. It is installed in `site/`, and its types with it. */
interface Emulator {
  write(data: Uint8Array | string, done: () => void): void;
  onData(listener: (answer: string) => void): void;
  readonly buffer: {
    readonly active: {
      readonly baseY: number;
      readonly cursorY: number;
      getLine(y: number): { readonly length: number; getCell(x: number): Cell | undefined } | undefined;
    };
  };
}

interface Cell {
  getChars(): string;
  getWidth(): number;
  getFgColor(): number;
  isFgDefault(): boolean;
  isBold(): number;
  isDim(): number;
}

/** Opens a screen of that size. Throws what importing the emulator throws when `site/` is not installed. */
export async function openScreen(columns: number, height: number): Promise<Screen> {
  const file = join(import.meta.dirname, "../../site/node_modules/@xterm/headless/lib-headless/xterm-headless.js");
  const { default: library } = (await import(pathToFileURL(file).href)) as {
    readonly default: { readonly Terminal: new (options: object) => Emulator };
  };
  const terminal = new library.Terminal({ cols: columns, rows: height, allowProposedApi: true, convertEol: false });
  let listener: (answer: string) => void = () => undefined;
  terminal.onData((answer) => listener(answer));
  return {
    write: (data) => new Promise((resolve) => terminal.write(data, resolve)),
    onAnswer: (next) => {
      listener = next;
    },
    rows() {
      const { active } = terminal.buffer;
      const rows = Array.from({ length: height }, (_, y) => rowOf(active.getLine(active.baseY + y)));
      const last = rows.findLastIndex((row) => row.length > 0);
      return rows.slice(0, Math.max(last, active.cursorY) + 1);
    },
  };
}

function rowOf(line: ReturnType<Emulator["buffer"]["active"]["getLine"]>): Row {
  const runs: Run[] = [];
  for (let x = 0; x < (line?.length ?? 0); x++) {
    const cell = line?.getCell(x);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const run = {
      text: cell.getChars() || " ",
      colour: cell.isFgDefault() ? undefined : cell.getFgColor(),
      bold: cell.isBold() !== 0,
      dim: cell.isDim() !== 0,
    };
    const last = runs.at(-1);
    if (last !== undefined && last.colour === run.colour && last.bold === run.bold && last.dim === run.dim)
      runs[runs.length - 1] = { ...last, text: last.text + run.text };
    else runs.push(run);
  }
  const end = runs.at(-1);
  if (end === undefined) return [];
  const text = end.text.trimEnd();
  return text === "" ? withoutBlanks(runs.slice(0, -1)) : [...runs.slice(0, -1), { ...end, text }];
}

function withoutBlanks(runs: readonly Run[]): Row {
  const end = runs.at(-1);
  if (end === undefined || end.text.trim() !== "") return runs;
  return withoutBlanks(runs.slice(0, -1));
}
