import { cascadesCommand } from "./cascades.ts";
import { chatCommand } from "./chat.ts";
import type { Command } from "./command.ts";
import { dashboardCommand } from "./dashboard.ts";
import { demoCommand } from "./demo.ts";
import { doctorCommand } from "./doctor.ts";
import { guardCommand } from "./guard.ts";
import { keyCommand } from "./key.ts";
import { limitsSource } from "./limits-source.ts";
import { openLocalMeter } from "./local-meter.ts";
import { modelsCommand } from "./models.ts";
import { runCommand } from "./run.ts";
import { schemaCommand } from "./schema.ts";
import { serveCommand } from "./serve.ts";
import { setupCommand } from "./setup.ts";
import { simulateCommand } from "./simulate.ts";
import { statuslineCommand } from "./statusline.ts";
import { tailCommand } from "./tail.ts";
import { usageCommand } from "./usage.ts";

const openLimits = limitsSource(openLocalMeter);

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  serveCommand,
  demoCommand,
  simulateCommand,
  chatCommand,
  tailCommand,
  runCommand,
  modelsCommand(openLimits),
  doctorCommand,
  cascadesCommand,
  schemaCommand,
  usageCommand(openLimits),
  statuslineCommand,
  guardCommand(openLimits),
  dashboardCommand,
  setupCommand,
  keyCommand,
];
