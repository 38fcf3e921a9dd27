import type { AgentOptions } from "./agent-options.ts";

/** The command that `devin` was started with. */
export type DevinCommand =
  | { readonly name: "version" }
  | { readonly name: "auth-status" }
  | { readonly name: "models-list" }
  | { readonly name: "acp"; readonly agentType: string; readonly model: string | undefined }
  | { readonly name: "wrong"; readonly why: string };

/** Reads the command line. Flags may stand before the subcommand. */
export function readCommand(args: readonly string[]): DevinCommand {
  const words: string[] = [];
  const flags = new Map<string, string>();
  for (let i = 0; i < args.length; i++) {
    const [flag = "", inline] = (args[i] ?? "").split(/=(.*)/s, 2);
    if (flag === "--version" || flag === "-V") return { name: "version" };
    if (!flag.startsWith("--")) words.push(args[i] ?? "");
    else if (valued.has(flag)) flags.set(flag, inline ?? args[++i] ?? "");
    else return { name: "wrong", why: `unexpected argument '${flag}' found` };
  }
  const command = words.join(" ");
  if (command === "auth status") return { name: "auth-status" };
  if (command === "models list") return { name: "models-list" };
  if (command !== "acp") return { name: "wrong", why: `unrecognized subcommand '${command}'` };
  const agentType = flags.get("--agent-type") ?? "default";
  if (!["default", "summarizer", "review"].includes(agentType)) {
    return { name: "wrong", why: `invalid value '${agentType}' for '--agent-type <TYPE>'` };
  }
  return { name: "acp", agentType, model: flags.get("--model") };
}

const valued = new Set(["--agent-type", "--model", "--config", "--permission-mode", "--format"]);

/** The output of `devin auth status`. */
export function authStatus(options: AgentOptions, signedIn: boolean): string {
  return signedIn && options.authStatus === "true" ? "Logged in as simulator@example.com" : "Not logged in";
}
