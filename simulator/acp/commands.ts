import process from "node:process";
import { hasKey } from "./access.ts";
import type { AgentSettings } from "./desk/desk-protocol.ts";
import { modelList } from "./models.ts";

const valued = new Set(["--agent-type", "--model", "--config", "--permission-mode", "--format"]);

/** Runs a command of `devin` that prints something and ends, and gives its exit code; the options of `devin acp`. Flags may stand before the subcommand. */
export function runCommand(settings: AgentSettings, args: readonly string[]): number | ReadonlyMap<string, string> {
  const { options } = settings;
  const words: string[] = [];
  const flags = new Map<string, string>();
  for (let i = 0; i < args.length; i++) {
    const [flag = "", inline] = (args[i] ?? "").split(/=(.*)/s, 2);
    if (flag === "--version" || flag === "-V") return print(`devin ${options.version}`);
    if (!flag.startsWith("--")) words.push(args[i] ?? "");
    else if (valued.has(flag)) flags.set(flag, inline ?? args[++i] ?? "");
    else return wrong(`unexpected argument '${flag}' found`);
  }
  const command = words.join(" ");
  if (command === "auth status") {
    return print(hasKey(settings, process.env) ? "Logged in as simulator@example.com" : "Not logged in");
  }
  if (command === "models list") return print(JSON.stringify(modelList(options.free)));
  if (command !== "acp") return wrong(`unrecognized subcommand '${command}'`);
  const type = flags.get("--agent-type") ?? "default";
  if (["default", "summarizer", "review"].includes(type)) return flags;
  return wrong(`invalid value '${type}' for '--agent-type <TYPE>'`);
}

function print(line: string): number {
  process.stdout.write(`${line}\n`);
  return 0;
}

function wrong(why: string): number {
  process.stderr.write(`error: ${why}\n`);
  return 2;
}
