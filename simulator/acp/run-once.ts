import process from "node:process";
import { authStatus, type DevinCommand } from "./commands.ts";
import { hasKey } from "./credentials.ts";
import type { AgentSettings } from "./desk/desk-protocol.ts";
import { modelList } from "./models.ts";

/** Runs a command that prints something and ends. Gives the exit code. */
export function runOnce(settings: AgentSettings, command: Exclude<DevinCommand, { name: "acp" }>): number {
  const { options } = settings;
  switch (command.name) {
    case "version":
      process.stdout.write(`devin ${options.version}\n`);
      return 0;
    case "auth-status":
      process.stdout.write(`${authStatus(options, hasKey(settings, process.env))}\n`);
      return 0;
    case "models-list":
      process.stdout.write(`${JSON.stringify(modelList(options.free))}\n`);
      return 0;
    case "wrong":
      process.stderr.write(`error: ${command.why}\n`);
      return 2;
    default:
      return command satisfies never;
  }
}
