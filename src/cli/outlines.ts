import type { ArgumentSpec, CommandGroup } from "./command.ts";

/** A command's entry in the list of commands: printing the list loads no command. */
export interface CommandOutline {
  readonly name: string;
  readonly summary: string;
  readonly group: CommandGroup;
  readonly arguments?: readonly ArgumentSpec[];
}

/** The commands of everyday use: the short help lists them alone. */
export const everyday: ReadonlySet<string> = new Set([
  "init",
  "setup",
  "run",
  "chat",
  "serve",
  "status",
  "usage",
  "models",
  "doctor",
]);

/** The outline of every command, in the order of the help. */
export const outlines = {
  init: {
    name: "init",
    summary: "Set everything up, step by step",
    group: "Set up",
  },
  setup: {
    name: "setup",
    summary: "Configure a client to use the gateway",
    group: "Set up",
    arguments: [{ name: "client", summary: "name of the client", required: false, variadic: false }],
  },
  chat: {
    name: "chat",
    summary: "Ask a question, or hold a conversation",
    group: "Use",
    arguments: [{ name: "question", summary: "what to ask", required: false, variadic: true }],
  },
  serve: {
    name: "serve",
    summary: "Serve the IDE's models on 127.0.0.1 until Ctrl-C",
    group: "Serve",
  },
  stop: {
    name: "stop",
    summary: "Stop the gateway",
    group: "Serve",
  },
  restart: {
    name: "restart",
    summary: "Stop the gateway and start it in the background",
    group: "Serve",
  },
  service: {
    name: "service",
    summary: "Run the gateway as a service of your user",
    group: "Serve",
  },
  status: {
    name: "status",
    summary: "Show what runs, what is left, and what failed last",
    group: "Look",
  },
  logs: {
    name: "logs",
    summary: "Show the log of a gateway that has no terminal",
    group: "Look",
  },
  demo: {
    name: "demo",
    summary: "Try Millrace with a stand-in IDE: no account, no cost",
    group: "Serve",
  },
  simulate: {
    name: "simulate",
    summary: "Run a stand-in IDE for tests and trials",
    group: "Serve",
  },
  pause: {
    name: "pause",
    summary: "Send no more prompts, at once and until `resume`",
    group: "Serve",
  },
  resume: {
    name: "resume",
    summary: "End the pause",
    group: "Serve",
  },
  tail: {
    name: "tail",
    summary: "Show the answer of a turn, and follow it while it runs",
    group: "Look",
    arguments: [
      {
        name: "turn",
        summary: "id of a turn (turn_…), or of a chat (`millrace chat --resume` lists them)",
        required: false,
        variadic: false,
      },
    ],
  },
  run: {
    name: "run",
    summary: "Start a client on the gateway, without changing its files",
    group: "Use",
    arguments: [
      { name: "client", summary: "name of the client", required: false, variadic: false },
      { name: "args", summary: "arguments for the client", required: false, variadic: true },
    ],
  },
  models: {
    name: "models",
    summary: "List the models that you can use, and their names",
    group: "Look",
  },
  doctor: {
    name: "doctor",
    summary: "Check this machine: what works, what does not, and how to fix it",
    group: "Look",
  },
  cascades: {
    name: "cascades",
    summary: "List or delete the conversations that Millrace made in the IDE",
    group: "Set up",
  },
  schema: {
    name: "schema",
    summary: "Compare the protocol of a build of the IDE with Millrace's",
    group: "Look",
  },
  usage: {
    name: "usage",
    summary: "Show what is left of the plan, how long it lasts, and what used it",
    group: "Look",
  },
  statusline: {
    name: "statusline",
    summary: "Print the limits as one line, for a status bar",
    group: "Look",
  },
  dashboard: {
    name: "dashboard",
    summary: "Open the dashboard in the browser",
    group: "Look",
  },
  config: {
    name: "config",
    summary: "Show, set and check the settings of the configuration file",
    group: "Set up",
  },
  completion: {
    name: "completion",
    summary: "Print the script that completes commands in a shell",
    group: "Set up",
    arguments: [{ name: "shell", summary: "bash, zsh, fish or powershell", required: true, variadic: false }],
  },
  keys: {
    name: "keys",
    summary: "Show or replace your key; make keys for other programs",
    group: "Set up",
  },
  uninstall: {
    name: "uninstall",
    summary: "Remove everything that Millrace made on this machine",
    group: "Set up",
  },
} as const satisfies Readonly<Record<string, CommandOutline>>;
