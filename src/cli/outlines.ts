import type { Command, CommandGroup } from "./command.ts";

/** A command's entry in the list of commands: printing the list loads no command. */
export type CommandOutline = Pick<Command, "name" | "summary" | "arguments"> & Required<Pick<Command, "group">>;

/** The commands of everyday use: the short help lists them alone. */
export const everyday: ReadonlySet<string> = new Set([
  "init",
  "setup",
  "run",
  "chat",
  "serve",
  "stop",
  "status",
  "usage",
  "models",
  "tail",
  "dashboard",
  "doctor",
  "config",
  "keys",
  "uninstall",
]);

/** The outline of every command, in the order of the help. */
export const outlines = {
  init: outline("init", "Set up", "Set everything up, step by step"),
  setup: outline("setup", "Set up", "Configure a client to use the gateway", ["[client]", "name of the client"]),
  chat: outline("chat", "Use", "Ask a question, or hold a conversation", ["[question...]", "what to ask"]),
  serve: outline("serve", "Serve", "Serve the IDE's models on 127.0.0.1 until Ctrl-C"),
  stop: outline("stop", "Serve", "Stop the gateway"),
  restart: outline("restart", "Serve", "Stop the gateway and start it in the background"),
  service: outline("service", "Serve", "Run the gateway as a service of your user"),
  status: outline("status", "Look", "Show what runs, what is left, and what failed last"),
  logs: outline("logs", "Look", "Show the log of a gateway that has no terminal"),
  demo: outline("demo", "Serve", "Try Millrace with a stand-in IDE: no account, no cost"),
  simulate: outline("simulate", "Serve", "Run a stand-in IDE for tests and trials"),
  pause: outline("pause", "Serve", "Send no more prompts, at once and until `resume`"),
  resume: outline("resume", "Serve", "End the pause"),
  tail: outline("tail", "Look", "Show the answer of a turn; `--follow` follows it while it runs", [
    "[turn]",
    "id of a turn (turn_…) or its end",
  ]),
  run: outline(
    "run",
    "Use",
    "Start a client on the gateway, without changing its files",
    ["[client]", "name of the client"],
    ["[args...]", "arguments for the client"],
  ),
  models: outline("models", "Look", "List the models that you can use, and their names", [
    "[word...]",
    "only models whose name, label or UID contains all these words",
  ]),
  doctor: outline("doctor", "Look", "Check this machine: what works, what does not, and how to fix it"),
  usage: outline("usage", "Look", "Show what is left of the plan, how long it lasts, and what used it"),
  statusline: outline("statusline", "Look", "Print the limits as one line, for a status bar"),
  dashboard: outline("dashboard", "Look", "Open the dashboard in the browser"),
  config: outline("config", "Set up", "Show and set the settings of the configuration file"),
  completion: outline(
    "completion",
    "Set up",
    "Print the script that completes commands in a shell",
    ["[shell]", "bash, zsh, fish or powershell"],
    ["[words...]", "for the script itself"],
  ),
  keys: outline("keys", "Set up", "Show or replace your key; make keys for other programs"),
  update: outline("update", "Set up", "Replace Millrace by the newest release, or go back"),
  uninstall: outline("uninstall", "Set up", "Remove everything that Millrace made on this machine"),
} as const satisfies Readonly<Record<string, CommandOutline>>;

/** The name of the command that a command line runs or asks help for; empty without one. */
export function commandIn(argv: readonly string[]): string {
  const [first = "", second = ""] = argv.filter((word) => !word.startsWith("-"));
  return first === "help" ? second : first;
}

/** Arguments as help spells them: `<client>` is needed, `[args...]` takes the rest. */
function outline(
  name: string,
  group: CommandGroup,
  summary: string,
  ...given: readonly (readonly [form: string, summary: string])[]
): CommandOutline {
  const specs = given.map(([form, what]) => ({
    name: form.replace(/[^\w-]/g, ""),
    summary: what,
    required: form.startsWith("<"),
    variadic: form.includes("..."),
  }));
  return { name, summary, group, arguments: specs };
}
