import type { Command } from "./command.ts";
import { commandsFor } from "./commands.ts";
import { dispatch } from "./dispatch.ts";
import type { Io } from "./terminal/io.ts";

/** Runs one command line and returns its exit code. */
export async function main(argv: readonly string[], io: Io, available?: readonly Command[]): Promise<number> {
  return dispatch(argv, io, available ?? (await commandsFor(argv)));
}
