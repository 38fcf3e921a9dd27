import type { Command } from "./command.ts";
import { guardCommand } from "./guard.ts";
import { limitsSource } from "./limits-source.ts";
import { openLocalMeter } from "./local-meter.ts";
import { usageCommand } from "./usage.ts";

/** What scripts and prompts run often: commands that start without loading what a gateway is made of. */
export const lightCommands: Readonly<Record<string, () => Command>> = {
  usage: () => usageCommand(limitsSource(openLocalMeter)),
  guard: () => guardCommand(limitsSource(openLocalMeter)),
};
