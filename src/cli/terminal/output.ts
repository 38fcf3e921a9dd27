import type { Writable } from "node:stream";
import { styleText } from "node:util";
import { cutTo, wrapProse } from "./display-width.ts";

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/**
 * Where a command writes: results to `out`, notes to `err`. Colour only on a terminal without NO_COLOR. If both are the same
 * screen, a note begins on a new line; output to a file or a pipe gets no extra line break.
 */
export interface Output {
  /** A line of result. */
  line(text?: string): void;
  /** Sentences of the result: a terminal gets them in lines that break between words. */
  prose(text: string): void;
  /** A line of a list: cut where a terminal ends, whole elsewhere. */
  row(text: string): void;
  /** Text of the result as it comes, without a line end. */
  write(text: string): void;
  /** A value as JSON, two spaces deep, on stdout. */
  json(value: unknown): void;
  /** A line of talk, on stderr. */
  note(text: string): void;
  /** An error and the next step, on stderr. */
  problem(error: { readonly message: string; readonly hint: string }): void;
  /** Talk as it comes, without a line end. */
  talk(text: string): void;
  /** Ends a line that `write` and `talk` left unfinished. */
  endLine(): void;
  /** A line on stderr that the next output replaces, such as a spinner; nothing where stderr is no terminal. `""` removes it. */
  status(text: string): void;
  /** How many times talk broke an unfinished line of the result. */
  readonly breaks: number;
  /** Styled for stdout. */
  style(style: Style | readonly Style[], text: string): string;
  readonly isTerminal: boolean;
  /** Whether the text on the screen can be drawn again: a terminal that moves its cursor. */
  readonly canRedraw: boolean;
  /** Width of the terminal in columns, as it is now; 80 if it is unknown or reported as 0. */
  readonly columns: number;
  /** Height of the terminal in rows, as it is now; undefined where unknown. */
  readonly rows: number | undefined;
  /** Resolves when the terminal has another size, or the signal aborts. */
  untilResized(signal: AbortSignal): Promise<void>;
}

interface Stream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

export function openOutput(stdout: Stream, stderr: Stream, env: Readonly<Record<string, string | undefined>>): Output {
  const isTerminal = stdout.isTTY === true;
  const colours = (stream: Stream) =>
    (stream.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb") || Boolean(env["FORCE_COLOR"]);
  const hasColour = colours(stdout);
  const columns = () => stdout.columns || 80;
  const isOneScreen = isTerminal && stderr.isTTY === true;
  const hasStatus = stderr.isTTY === true && env["TERM"] !== "dumb";
  const isUnfinished = { stdout: false, stderr: false };
  let breaks = 0;
  let isStatusShown = false;
  const status = (text: string) => {
    if (!hasStatus || (text === "" && !isStatusShown)) return;
    if (text !== "" && (isUnfinished.stderr || (isOneScreen && isUnfinished.stdout))) return;
    stderr.write(`\r\u001B[2K${cutTo(text, Math.max(1, (stderr.columns || 80) - 1))}`);
    isStatusShown = text !== "";
  };
  const write = (text: string) => {
    if (text === "") return;
    status("");
    if (isOneScreen && isUnfinished.stderr) talk("\n");
    stdout.write(text);
    isUnfinished.stdout = !text.endsWith("\n");
  };
  const talk = (text: string) => {
    if (text === "") return;
    status("");
    if (isOneScreen && isUnfinished.stdout) {
      stderr.write("\n");
      breaks++;
    }
    if (isOneScreen) isUnfinished.stdout = false;
    stderr.write(text);
    isUnfinished.stderr = !text.endsWith("\n");
  };
  const proseFor = (stream: Stream, text: string) =>
    stream.isTTY === true ? wrapProse(text, stream.columns || 80).join("\n") : text;
  const note = (text: string) => {
    if (isUnfinished.stderr) talk("\n");
    talk(`${proseFor(stderr, text)}\n`);
  };
  const mark = (style: Style, text: string) =>
    colours(stderr) ? styleText(["bold", style], text, { validateStream: false }) : text;
  return {
    line: (text = "") => write(`${text}\n`),
    prose: (text) => write(`${proseFor(stdout, text)}\n`),
    row: (text) => write(`${isTerminal ? cutTo(text, columns()) : text}\n`),
    write,
    json: (value) => write(`${JSON.stringify(value, null, 2)}\n`),
    note,
    problem: ({ message, hint }) => {
      note(`${mark("red", "error:")} ${message}`);
      if (hint !== "") note(`${mark("cyan", "hint:")} ${hint}`);
    },
    talk,
    endLine: () => {
      status("");
      if (isUnfinished.stdout) write("\n");
      if (isUnfinished.stderr) talk("\n");
    },
    status,
    get breaks() {
      return breaks;
    },
    style: (style, text) => (hasColour ? styleText([style].flat(), text, { validateStream: false }) : text),
    isTerminal,
    canRedraw: isTerminal && env["TERM"] !== "dumb",
    get columns() {
      return columns();
    },
    get rows() {
      return stdout.rows;
    },
    untilResized: (signal) =>
      new Promise((resolve) => {
        const done = () => {
          stdout.off("resize", done);
          signal.removeEventListener("abort", done);
          resolve();
        };
        if (signal.aborted) return resolve();
        stdout.once("resize", done);
        signal.addEventListener("abort", done, { once: true });
      }),
  };
}
