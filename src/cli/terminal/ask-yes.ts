import { createInterface } from "node:readline/promises";
import type { Io } from "./io.ts";
import type { Output } from "./output.ts";

/** Whether a person can be asked: only on a terminal. */
export function canAsk({ io, out }: { readonly io: Pick<Io, "stdin">; readonly out: Pick<Output, "isTerminal"> }) {
  return io.stdin.isTTY === true && out.isTerminal;
}

/** Asks on the terminal; true for `y` or `yes`. Ctrl-C and the end of the input are a no. */
export async function askYes(question: string, io: Io): Promise<boolean> {
  return isYes(await askLine(`${question} [y/N]`, io));
}

export const isYes = (answer: string) => /^y(?:es)?$/i.test(answer);

/** Asks on the terminal for one line. Ctrl-C and the end of the input are an empty one. */
export async function askLine(question: string, { stdin, stderr, signal }: Io): Promise<string> {
  const reader = createInterface({ input: stdin, output: stderr, terminal: false }); // so that Ctrl-C stays a signal
  const ended = new Promise<string>((resolve) => reader.once("close", () => resolve("")));
  try {
    const answer = reader.question(`${question} `, { signal }).catch(() => "");
    return (await Promise.race([answer, ended])).trim();
  } finally {
    reader.close();
  }
}
