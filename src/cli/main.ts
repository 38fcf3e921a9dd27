import type { Command } from "./command.ts";
import { dispatch, reported } from "./dispatch.ts";
import { type CommandOutline, commandIn, outlines } from "./outlines.ts";
import { canAsk } from "./terminal/ask-yes.ts";
import type { Io } from "./terminal/output.ts";

/** Runs one command line and returns its exit code. Without any word, on a terminal, it shows the menu. */
export async function main(argv: readonly string[], io: Io, available?: readonly Command[]): Promise<number> {
  if (argv.length === 0 && available === undefined && canAsk({ io, out: { isTerminal: io.stdout.isTTY === true } })) {
    const menu = async () => {
      const { showMenu } = await import("./menu.ts");
      return showMenu(io, async (words) => dispatch(words, io, await commandsFor(words)));
    };
    return reported(menu, io);
  }
  const code = await dispatch(argv, io, available ?? (await commandsFor(argv)));
  if (code === 0 || io.platform !== "darwin") return code;
  return (await import("./service/launchd.ts")).launchdExitCode(code, io.env);
}

/** Loads each command. Each is a separate chunk of the built program, so that one command loads no other. */
const loaders: Readonly<Record<keyof typeof outlines, () => Promise<Command>>> = {
  init: async () => (await import("./commands/init.ts")).initCommand,
  setup: async () => (await import("./commands/setup.ts")).setupCommand,
  chat: async () => (await import("./commands/chat.ts")).chatCommand,
  serve: async () => (await import("./commands/serve.ts")).serveCommand,
  stop: async () => (await import("./commands/stop.ts")).stopCommand,
  restart: async () => (await import("./commands/stop.ts")).restartCommand,
  service: async () => (await import("./commands/service.ts")).serviceCommand,
  status: async () => (await import("./commands/status.ts")).statusCommand,
  logs: async () => (await import("./commands/logs.ts")).logsCommand,
  demo: async () => (await import("./commands/demo.ts")).demoCommand,
  simulate: async () => (await import("./commands/simulate.ts")).simulateCommand,
  pause: async () => (await import("./commands/stop.ts")).pauseCommand,
  resume: async () => (await import("./commands/stop.ts")).resumeCommand,
  tail: async () => (await import("./commands/tail.ts")).tailCommand,
  run: async () => (await import("./commands/run.ts")).runCommand,
  models: async () => (await import("./commands/models.ts")).modelsCommand,
  doctor: async () => (await import("./commands/doctor.ts")).doctorCommand,
  usage: async () => (await import("./commands/usage.ts")).usageCommand(),
  statusline: async () => (await import("./commands/statusline.ts")).statuslineCommand,
  dashboard: async () => (await import("./commands/dashboard.ts")).dashboardCommand,
  config: async () => (await import("./commands/config.ts")).configCommand,
  completion: async () => (await import("./commands/completion.ts")).completionCommand(commandsFor),
  keys: async () => (await import("./commands/keys.ts")).keysCommand,
  update: async () => (await import("./commands/update.ts")).updateCommand,
  uninstall: async () => (await import("./commands/uninstall.ts")).uninstallCommand,
};

/** Every command in the order of the help: the one named on the command line, and outlines of the others. */
export async function commandsFor(argv: readonly string[]): Promise<readonly Command[]> {
  const name = commandIn(argv);
  const listed: Command[] = [];
  for (const [each, load] of Object.entries(loaders))
    listed.push(each === name ? await load() : outlined(outlines[each as keyof typeof outlines])); // the same keys
  return listed;
}

/** Every command with its options and examples: the reference pages read them. */
export function loadAll(): Promise<readonly Command[]> {
  return Promise.all(Object.values(loaders).map((load) => load()));
}

/** A command that is listed, and not run. */
function outlined(outline: CommandOutline): Command {
  return {
    ...outline,
    options: {},
    run: () => Promise.reject(new Error(`the command ${outline.name} was not loaded`)),
  };
}
