import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { endHosts } from "../../backends/acp/host/hosts.ts";
import { MillraceError } from "../../base/errors.ts";
import { childEnvironment } from "../../base/node/child-environment.ts";
import { removeEmptyFolders } from "../../base/node/remove-empty-folders.ts";
import { commandRunner } from "../../ide/host/run-command.ts";
import { hostsFolder } from "../agents/agent-spec.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { findGateway } from "../gateway-process/gateway-client.ts";
import { readGatewayFile } from "../gateway-process/gateway-file.ts";
import { outlines } from "../outlines.ts";
import { takeSteps } from "../service/service-plan.ts";
import { isServiceInstalled, managerOf, noteService, serviceSpec } from "../service/service-spec.ts";
import { exitCodes, nothingHere } from "../terminal/exit-codes.ts";
import { stableNode } from "../terminal/stable-node.ts";

const waitMs = 20_000;
const lookEveryMs = 100;

const summaries = {
  install: "Install the service and start it",
  uninstall: "Stop the service and remove it",
} as const;
type Action = keyof typeof summaries;

export const serviceCommand: Command = defineCommand({
  ...outlines.service,
  description:
    "Runs the gateway as a service of your user: a systemd user unit, a launchd agent, or a task of Windows' Task Scheduler. The options of serve come from the configuration file. `millrace stop`, `restart` and `logs` work for a service too.",
  options: {},
  subcommands: (["install", "uninstall"] as const).map(subcommand),
  examples: [
    ["millrace service install", "at every login from now on"],
    ["millrace service uninstall", "no more; turns, key and settings stay"],
  ],
  run: async (_, context) => {
    if (!isServiceInstalled(context)) throw notInstalled();
    context.out.line("The service is installed. `millrace status` shows whether it serves.");
    return exitCodes.ok;
  },
});

function subcommand(action: Action): Command {
  return defineCommand({
    name: action,
    summary: summaries[action],
    options: {},
    run: (_, context) => actOnService(action, context),
  });
}

/** Acts on the service, also for `millrace restart` and `uninstall`; answers the exit code. */
export async function actOnService(action: Action | "restart", context: CommandContext): Promise<number> {
  const { io, out, signal } = context;
  const manager = managerOf(io.platform);
  if (manager === undefined) {
    throw new MillraceError("invalid_request", `There is no service manager for ${io.platform} here.`, {
      hint: "`millrace serve --background` needs none.",
    });
  }
  const spec = serviceSpec(context);
  if (action === "uninstall" && !existsSync(manager.definition(spec)))
    throw nothingHere("The service is not installed, so there is nothing to remove.", "");
  if (action !== "install" && !existsSync(manager.definition(spec))) throw notInstalled();
  if (action === "install") await refuseBesideAnother(context);
  await takeSteps(manager.steps(spec)[action], commandRunner(childEnvironment("tool", io.env, io.platform)), signal);
  if (action !== "restart") noteService(spec.folder, action === "install" ? spec : undefined);
  if (action === "uninstall") {
    removeEmptyFolders(dirname(manager.definition(spec)), io.homeFolder);
    await endHosts(hostsFolder(context.settings.folder)); // nobody would read their answers
    out.line("The service is removed. Your turns, key and settings stay.");
    return exitCodes.ok;
  }
  const url = await untilServes(context);
  if (url === undefined) {
    throw new MillraceError(
      "upstream_timeout",
      `The service was started, but it does not answer after ${waitMs / 1000} s.`,
      {
        hint: "`millrace logs` shows why.",
      },
    );
  }
  out.line(`The service (${manager.title}) serves on ${url}.`);
  if (action === "install") {
    out.line(manager.note);
    const { path, until } = stableNode(process.execPath, { env: io.env });
    if (until !== undefined)
      out.note(`It runs ${path}. When an upgrade of Node takes ${until} away, run \`millrace service install\` again.`);
  }
  return exitCodes.ok;
}

/** A gateway that the service did not start has the port: the service would end at once. */
async function refuseBesideAnother({ settings, signal }: CommandContext): Promise<void> {
  const running = await findGateway(settings, signal);
  const address = readGatewayFile(settings.gatewayFile);
  if (running === undefined || address?.startedBy === "service") return;
  throw new MillraceError("invalid_request", `Your gateway already serves on ${running.url}, and not as a service.`, {
    param: "port",
    hint: "Run `millrace stop`, then this again: running answers continue in the service.",
  });
}

/** Where the service's gateway answers; undefined while it does not. */
async function serving({ settings, signal }: CommandContext): Promise<string | undefined> {
  const running = await findGateway(settings, signal);
  return readGatewayFile(settings.gatewayFile)?.startedBy === "service" ? running?.url : undefined;
}

async function untilServes(context: CommandContext): Promise<string | undefined> {
  const { clock } = context.io;
  const giveUpAtMs = clock.monotonic() + waitMs;
  while (clock.monotonic() < giveUpAtMs) {
    const url = await serving(context);
    if (url !== undefined) return url;
    await clock.sleep(lookEveryMs, context.signal);
  }
  return undefined;
}

function notInstalled(): MillraceError {
  return nothingHere("The service is not installed.", "`millrace service install` installs and starts it.");
}
