import type { Writable } from "node:stream";
import { styleText } from "node:util";

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Where a command writes: results to `out`, talk to `err`. Colour only on a terminal without NO_COLOR. */
export interface Output {
  /** A line of result. */
  line(text?: string): void;
  /** Text as it comes, without a line end. */
  write(text: string): void;
  /** A value as JSON, two spaces deep, on stdout. */
  json(value: unknown): void;
  /** A line of talk, on stderr. */
  note(text: string): void;
  /** Styled for stdout. */
  style(style: Style | readonly Style[], text: string): string;
  readonly isTerminal: boolean;
  /** Width of the terminal in columns; 80 where unknown. */
  readonly columns: number;
}

interface Stream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export function openOutput(stdout: Stream, stderr: Stream, env: Readonly<Record<string, string | undefined>>): Output {
  const isTerminal = stdout.isTTY === true;
  const hasColour = (isTerminal && !env["NO_COLOR"] && env["TERM"] !== "dumb") || Boolean(env["FORCE_COLOR"]);
  return {
    line: (text = "") => void stdout.write(`${text}\n`),
    write: (text) => void stdout.write(text),
    json: (value) => void stdout.write(`${JSON.stringify(value, null, 2)}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    style: (style, text) => (hasColour ? styleText([style].flat(), text, { validateStream: false }) : text),
    isTerminal,
    columns: stdout.columns ?? 80,
  };
}
