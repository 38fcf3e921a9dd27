import type { Command } from "./command.ts";
import { keyCommand } from "./key.ts";

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [keyCommand];
