import { cascadesCommand } from "./cascades.ts";
import { chatCommand } from "./chat.ts";
import type { Command } from "./command.ts";
import { demoCommand } from "./demo.ts";
import { doctorCommand } from "./doctor.ts";
import { keyCommand } from "./key.ts";
import { modelsCommand } from "./models.ts";
import { runCommand } from "./run.ts";
import { serveCommand } from "./serve.ts";
import { setupCommand } from "./setup.ts";
import { simulateCommand } from "./simulate.ts";

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  serveCommand,
  demoCommand,
  simulateCommand,
  chatCommand,
  runCommand,
  modelsCommand,
  doctorCommand,
  cascadesCommand,
  setupCommand,
  keyCommand,
];
