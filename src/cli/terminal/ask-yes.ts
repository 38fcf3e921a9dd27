import { createInterface } from "node:readline/promises";
import type { Io } from "./io.ts";
import type { Output } from "./output.ts";

/** Whether a person can be asked: only on a terminal. */
export function canAsk({ io, out }: { readonly io: Pick<Io, "stdin">; readonly out: Pick<Output, "isTerminal"> }) {
  return io.stdin.isTTY === true && out.isTerminal;
}

/** Asks on the terminal; true for `y` or `yes`. Ctrl-C and the end of the input are a no. */
export async function askYes(question: string, { stdin, stderr, signal }: Io): Promise<boolean> {
  const reader = createInterface({ input: stdin, output: stderr, terminal: false }); // so that Ctrl-C stays a signal
  const ended = new Promise<string>((resolve) => reader.once("close", () => resolve("")));
  try {
    const answer = reader.question(`${question} [y/N] `, { signal }).catch(() => "");
    return /^y(?:es)?$/i.test((await Promise.race([answer, ended])).trim());
  } finally {
    reader.close();
  }
}
