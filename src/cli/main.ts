import type { Command } from "./command.ts";
import { commandsFor } from "./commands.ts";
import { runCommands } from "./run-commands.ts";
import type { Io } from "./terminal/io.ts";

/** Runs one command line and answers its exit code. */
export async function run(argv: readonly string[], io: Io, available?: readonly Command[]): Promise<number> {
  return runCommands(argv, io, available ?? (await commandsFor(argv)));
}
