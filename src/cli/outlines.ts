import type { ArgumentSpec, CommandGroup } from "./command.ts";

/** What the list of commands says of one: to print the list, no command is loaded. */
export interface CommandOutline {
  readonly name: string;
  readonly summary: string;
  readonly group: CommandGroup;
  readonly arguments?: readonly ArgumentSpec[];
}

/** The outline of every command, in the order of the help. */
export const outlines = {
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
  logs: {
    name: "logs",
    summary: "Show the log of a gateway that has no terminal",
    group: "Look",
  },
  demo: {
    name: "demo",
    summary: "Show the whole thing once, with a stand-in IDE",
    group: "Serve",
  },
  simulate: {
    name: "simulate",
    summary: "Run a stand-in IDE, to try everything without one",
    group: "Serve",
  },
  chat: {
    name: "chat",
    summary: "Ask a question, or hold a conversation",
    group: "Use",
    arguments: [{ name: "question", summary: "what to ask", required: false, variadic: true }],
  },
  tail: {
    name: "tail",
    summary: "Show what a turn of the gateway has answered, and follow it",
    group: "Look",
    arguments: [
      {
        name: "turn",
        summary: "the id of a turn (turn_…), or of a chat (as chat --resume lists them)",
        required: false,
        variadic: false,
      },
    ],
  },
  run: {
    name: "run",
    summary: "Start a client that uses the gateway, this once",
    group: "Use",
    arguments: [
      { name: "client", summary: "which client", required: true, variadic: false },
      { name: "args", summary: "the client's own arguments", required: false, variadic: true },
    ],
  },
  models: {
    name: "models",
    summary: "List the models of the account, by the names that requests use",
    group: "Look",
  },
  doctor: {
    name: "doctor",
    summary: "Say what was found, what was rejected and why, and what to do",
    group: "Look",
  },
  account: {
    name: "account",
    summary: "Show who is signed in to each editor and agent program",
    group: "Look",
  },
  cascades: {
    name: "cascades",
    summary: "List and clean up the conversations that Millrace left in the IDE",
    group: "Set up",
  },
  schema: {
    name: "schema",
    summary: "Look into what a build of the IDE speaks",
    group: "Look",
  },
  usage: {
    name: "usage",
    summary: "Show what is left of the plan, whether it lasts, and who spent it",
    group: "Look",
  },
  statusline: {
    name: "statusline",
    summary: "Print the limits as one line, for a status bar",
    group: "Look",
  },
  guard: {
    name: "guard",
    summary: "Exit with 0 while enough of the plan is left, 1 when not",
    group: "Look",
  },
  dashboard: {
    name: "dashboard",
    summary: "Open the dashboard in the browser",
    group: "Look",
  },
  setup: {
    name: "setup",
    summary: "Point a client at the gateway, for good",
    group: "Set up",
    arguments: [{ name: "client", summary: "which client", required: false, variadic: false }],
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
  init: {
    name: "init",
    summary: "Set everything up, step by step",
    group: "Set up",
  },
  key: {
    name: "key",
    summary: "Show where the gateway's key is",
    group: "Set up",
  },
} as const satisfies Readonly<Record<string, CommandOutline>>;
