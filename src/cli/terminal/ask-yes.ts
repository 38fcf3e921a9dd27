import { createInterface } from "node:readline/promises";
import { MillraceError } from "../../base/errors.ts";
import { visible } from "./foreign-text.ts";
import type { Io, Output } from "./output.ts";

/** Whether a person can be asked: only on a terminal. */
export function canAsk({ io, out }: { readonly io: Pick<Io, "stdin">; readonly out: Pick<Output, "isTerminal"> }) {
  return io.stdin.isTTY === true && out.isTerminal;
}

/**
 * Asks on the terminal until the answer is understood; true for `y` or `yes`. No answer and the end of the input (Ctrl-D) are a no; Ctrl-C
 * ends the command.
 */
export async function askYes(question: string, io: Io): Promise<boolean> {
  for (;;) {
    const answer = await askLine(`${question} [y/N]`, io);
    if (isYes(answer)) return true;
    if (/^(?:no?)?$/i.test(answer)) return false;
    io.stderr.write("Type y or n.\n");
  }
}

/**
 * Whether the user agrees. `nothing` says what did not happen where the answer is no.
 *
 * @throws MillraceError `invalid_request` off a terminal.
 */
export async function agrees(
  question: string,
  nothing: string,
  { io, out }: { readonly io: Io; readonly out: Output },
): Promise<boolean> {
  if (!canAsk({ io, out }))
    throw new MillraceError("invalid_request", `${nothing}, because there is no terminal to ask on.`, {
      hint: "The same command with `--yes` does not ask.",
    });
  const isAgreed = await askYes(question, io);
  if (!isAgreed) out.note(`${nothing}.`);
  return isAgreed;
}

const isYes = (answer: string) => /^y(?:es)?$/i.test(answer);

/**
 * Asks on the terminal for one line. The end of the input (Ctrl-D) is an empty one. Ctrl-C throws: nothing that was asked about is done,
 * and no further question comes.
 */
export async function askLine(question: string, { stdin, stderr, signal }: Pick<Io, "stdin" | "stderr" | "signal">) {
  const reader = createInterface({ input: stdin, output: stderr, terminal: false }); // so that Ctrl-C stays a signal
  const ended = new Promise<undefined>((resolve) => reader.once("close", () => resolve(undefined)));
  try {
    const answer = reader.question(`${visible(question)} `, { signal }).catch(() => undefined);
    const typed = await Promise.race([answer, ended]);
    if (typed === undefined && !signal.aborted) stderr.write("\n"); // the next line is the shell's; after Ctrl-C readline ends it
    signal.throwIfAborted();
    return typed?.trim() ?? "";
  } finally {
    reader.close();
  }
}

/** Asks on the terminal which of some things are meant, until the answer is understood: their numbers, 1 for the first. */
export async function askNumbers(
  question: string,
  { count, one = false }: { readonly count: number; readonly one?: boolean },
  { io, out }: { readonly io: Io; readonly out: Pick<Output, "note"> },
): Promise<ReadonlySet<number>> {
  for (;;) {
    const answer = await askLine(question, io);
    const chosen = stepsNamed(answer, count);
    if (chosen !== undefined && (!one || chosen.size < 2)) return chosen;
    const wanted = one ? "a number" : "y, n, or numbers";
    out.note(`${JSON.stringify(answer)} is not an answer. Type ${wanted} from 1 to ${count}.`);
  }
}

/** The numbers of the steps that an answer names, 1 for the first; undefined for an answer that is not understood whole. */
export function stepsNamed(answer: string, count: number): ReadonlySet<number> | undefined {
  const upTo = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, at) => first + at);
  if (isYes(answer)) return new Set(upTo(1, count));
  if (/^(?:no?)?$/i.test(answer)) return new Set();
  const words = answer.split(/[\s,]+/).filter((word) => word !== "");
  const ranges = words.map((word) => /^(\d{1,3})(?:-(\d{1,3}))?$/.exec(word));
  const numbers = ranges.flatMap((range) => {
    const first = Number(range?.[1] ?? 0);
    const last = Number(range?.[2] ?? first);
    return first >= 1 && first <= last && last <= count ? upTo(first, last) : [0];
  });
  return numbers.includes(0) ? undefined : new Set(numbers);
}
