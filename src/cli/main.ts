import type { Command } from "./command.ts";
import { commandsFor } from "./commands.ts";
import { dispatch } from "./dispatch.ts";
import { canAsk } from "./terminal/ask-yes.ts";
import type { Io } from "./terminal/output.ts";

/** Runs one command line and returns its exit code. Without any word, on a terminal, it shows the menu. */
export async function main(argv: readonly string[], io: Io, available?: readonly Command[]): Promise<number> {
  if (argv.length === 0 && available === undefined && canAsk({ io, out: { isTerminal: io.stdout.isTTY === true } })) {
    const { showMenu } = await import("./menu.ts");
    return showMenu(io, async (words) => dispatch(words, io, await commandsFor(words)));
  }
  return dispatch(argv, io, available ?? (await commandsFor(argv)));
}
