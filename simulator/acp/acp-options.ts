import process from "node:process";

const valued = new Set(["--agent-type", "--model", "--config", "--permission-mode"]);

/** The options of `devin acp`, which may stand before the word; the exit code of anything else, which is refused. */
export function acpOptions(args: readonly string[]): number | ReadonlyMap<string, string> {
  const words: string[] = [];
  const flags = new Map<string, string>();
  for (let i = 0; i < args.length; i++) {
    const [flag = "", inline] = (args[i] ?? "").split(/=(.*)/s, 2);
    if (!flag.startsWith("--")) words.push(args[i] ?? "");
    else if (valued.has(flag)) flags.set(flag, inline ?? args[++i] ?? "");
    else return wrong(`unexpected argument '${flag}' found`);
  }
  const command = words.join(" ");
  if (command !== "acp") return wrong(`unrecognized subcommand '${command}'`);
  const type = flags.get("--agent-type") ?? "default";
  if (["default", "summarizer", "review"].includes(type)) return flags;
  return wrong(`invalid value '${type}' for '--agent-type <TYPE>'`);
}

function wrong(why: string): number {
  process.stderr.write(`error: ${why}\n`);
  return 2;
}
