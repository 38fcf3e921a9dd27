import type { Readable, Writable } from "node:stream";
import type { Clock } from "../../base/clock.ts";
import { cutTo, wrapProse } from "./display-width.ts";
import { jsonText, openStyleMarks, type Style } from "./foreign-text.ts";

/**
 * The only place of the command line that prints: results to `out`, notes to `err`. Models, clients and files write much of what is
 * printed, so all controls in it become visible; styles and cursor moves are added after that. Colour only on a terminal without
 * NO_COLOR. If both are the same screen, a note begins on a new line; output to a file or a pipe gets no extra line break.
 */
export interface Output {
  /** A line of result. */
  line(text?: string): void;
  /** Sentences of the result: a terminal gets them in lines that break between words. */
  prose(text: string): void;
  /** A line of a list: cut where a terminal ends, whole elsewhere. */
  row(text: string): void;
  /** Text of the result as it comes, without a line end. A file or a pipe gets its very bytes. */
  write(text: string): void;
  /** A value as JSON on stdout: two spaces deep, or on one line. No control in it is raw. */
  json(value: unknown, form?: "line"): void;
  /** A line of talk, on stderr. */
  note(text: string): void;
  /** An error and the next step, on stderr. */
  problem(error: { readonly message: string; readonly hint: string }): void;
  /** Talk as it comes, without a line end. */
  talk(text: string): void;
  /** Ends a line that `write` and `talk` left unfinished. */
  endLine(): void;
  /** Styled for stdout, by marks that take no room and that only this output turns into codes. */
  style(style: Style | readonly Style[], text: string): string;
  readonly isTerminal: boolean;
  /** Width of the terminal in columns, as it is now; 80 if it is unknown or reported as 0. */
  readonly columns: number;
}

export function openOutput(
  stdout: Io["stdout"],
  stderr: Io["stderr"],
  env: Readonly<Record<string, string | undefined>>,
): Output {
  const isTerminal = stdout.isTTY === true;
  const colours = (stream: Io["stderr"]) =>
    (stream.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb") || Boolean(env["FORCE_COLOR"]);
  const hasColour = colours(stdout);
  const columns = () => stdout.columns || 80;
  const isOneScreen = isTerminal && stderr.isTTY === true;
  const isUnfinished = { stdout: false, stderr: false };
  const { mark, toTerminal } = openStyleMarks();
  const put = (text: string) => {
    if (text === "") return;
    if (isOneScreen && isUnfinished.stderr) talk("\n");
    stdout.write(text);
    isUnfinished.stdout = !text.endsWith("\n");
  };
  const print = (text: string) => put(toTerminal(text));
  const talk = (text: string) => {
    if (text === "") return;
    if (isOneScreen && isUnfinished.stdout) stderr.write("\n");
    if (isOneScreen) isUnfinished.stdout = false;
    stderr.write(toTerminal(text));
    isUnfinished.stderr = !text.endsWith("\n");
  };
  const proseFor = (stream: Io["stderr"], text: string) =>
    stream.isTTY === true ? wrapProse(text, stream.columns || 80).join("\n") : text;
  const note = (text: string) => {
    if (isUnfinished.stderr) talk("\n");
    talk(`${proseFor(stderr, text)}\n`);
  };
  const label = (style: Style, text: string) => (colours(stderr) ? mark(["bold", style], text) : text);
  return {
    line: (text = "") => print(`${text}\n`),
    prose: (text) => print(`${proseFor(stdout, text)}\n`),
    row: (text) => print(`${isTerminal ? cutTo(text, columns()) : text}\n`),
    write: (text) => (isTerminal ? print(text) : put(text)),
    json: (value, form) => put(`${jsonText(value, form === "line" ? undefined : 2)}\n`),
    note,
    problem: ({ message, hint }) => {
      note(`${label("red", "error:")} ${message}`);
      if (hint !== "") note(`${label("cyan", "hint:")} ${hint}`);
    },
    talk,
    endLine: () => {
      if (isUnfinished.stdout) put("\n");
      if (isUnfinished.stderr) talk("\n");
    },
    style: (style, text) => (hasColour ? mark(style, text) : text),
    isTerminal,
    get columns() {
      return columns();
    },
  };
}

/** All that a command may touch of the world: handed in, so that every command is tested in process. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly homeFolder: string;
  readonly clock: Clock;
  /** Aborts on the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
}
