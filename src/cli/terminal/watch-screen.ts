import { bestEffort } from "../../base/async.ts";
import { toMillraceError } from "../../base/errors.ts";
import type { CommandContext } from "../command.ts";
import { displayWidth, wrapLine } from "./display-width.ts";

export interface WatchSource<T> {
  readonly read: () => Promise<T>;
  /** Lines for the terminal's current width. */
  readonly draw: (value: T) => readonly string[];
  readonly everyMs: number;
}

/**
 * Reads and draws repeatedly in the same place, and at once when the terminal's size changes, until the signal aborts. The last
 * picture stays. After the first picture, a failed reading is reported below it and retried. Throws the error of the first reading.
 */
export async function watchScreen<T>(
  { read, draw, everyMs }: WatchSource<T>,
  { out, io, signal }: Pick<CommandContext, "out" | "io" | "signal">,
): Promise<void> {
  let value = await read();
  let problem: string | undefined;
  const lines = () => {
    const drawn = draw(value);
    return problem === undefined ? drawn : [...drawn, "", ...wrapLine(problem, out.columns)];
  };
  out.otherScreen(true);
  try {
    for (;;) {
      out.picture(frame(lines(), out));
      let isDue = false;
      const pause = new AbortController();
      const either = AbortSignal.any([signal, pause.signal]);
      const due = bestEffort(io.clock.sleep(everyMs, either)).then(() => (isDue = !pause.signal.aborted));
      await Promise.race([due, out.untilResized(either)]);
      pause.abort();
      if (signal.aborted) return;
      if (!isDue) continue;
      try {
        value = await read();
        problem = undefined;
      } catch (error) {
        if (signal.aborted) return;
        const { message, hint } = toMillraceError(error);
        problem = `${message} ${hint} Trying again.`;
      }
    }
  } finally {
    out.otherScreen(false);
    for (const line of lines()) out.line(line);
  }
}

/** The lines of one picture: none is wider than the terminal, and there are no more of them than it has rows. */
function frame(
  lines: readonly string[],
  { columns, rows }: { readonly columns: number; readonly rows: number | undefined },
): readonly string[] {
  const fitting = lines.flatMap((line) => (displayWidth(line) <= columns ? [line] : wrapLine(line, columns)));
  const left = rows === undefined ? 0 : fitting.length - rows;
  return left <= 0
    ? fitting
    : [...fitting.slice(0, (rows ?? 1) - 1), ...wrapLine(`… ${left + 1} more`, columns).slice(0, 1)];
}
