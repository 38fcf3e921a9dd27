import { existsSync, realpathSync } from "node:fs";
import { MillraceError } from "../../base/errors.ts";
import { commandRunner } from "../../ide/host/run-command.ts";
import { withoutNpm } from "../clients/millrace-command.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { startedByVariable } from "../gateway-process/background.ts";
import { findGateway } from "../gateway-process/gateway-client.ts";
import { readGatewayFile } from "../gateway-process/gateway-file.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { managerOf } from "../service/manager-of.ts";
import type { ServiceAction, ServiceManager, ServiceSpec } from "../service/service-plan.ts";
import { spellStep, takeSteps } from "../service/take-steps.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { logsCommand } from "./logs.ts";

/** Variables of the shell that a service keeps: where Millrace's files are, and where programs are found. */
const kept = ["PATH", "MILLRACE_HOME", "MILLRACE_CONFIG", "MILLRACE_KEY_FILE", "MILLRACE_LOG_KEY_FILE"];
const waitMs = 20_000;
const lookEveryMs = 100;

const summaries: Readonly<Record<ServiceAction, string>> = {
  install: "Install the service and start it",
  start: "Start the service",
  stop: "Stop the service",
  restart: "Restart the service",
  status: "Show whether the service is installed and answers",
  uninstall: "Stop the service and remove it",
};

const actions = Object.keys(summaries) as ServiceAction[]; // the record's own keys

export const serviceCommand: Command = defineCommand({
  ...outlines.service,
  description:
    "Runs the gateway as a service of your user: a systemd user unit, a launchd agent, or a task of Windows' Task Scheduler. The options of serve come from the configuration file. --dry-run shows every file and every command first.",
  options: {},
  subcommands: [...actions.map(subcommand), logsCommand],
  examples: [
    ["millrace service install --dry-run", "what would be written and run"],
    ["millrace service install", "at every login from now on"],
    ["millrace service logs --follow", "what it does"],
  ],
  run: (input, context) => act("status", input.given.has("dryRun"), context),
});

function subcommand(action: ServiceAction): Command {
  return defineCommand({
    name: action,
    summary: summaries[action],
    group: "Serve",
    options: { dryRun: flag("print what would be written and run, and do nothing") },
    examples: [],
    run: ({ options }, context) => act(action, options.dryRun, context),
  });
}

async function act(action: ServiceAction, dryRun: boolean, context: CommandContext): Promise<number> {
  const { io, out, signal } = context;
  const manager = managerOf(io.platform);
  if (manager === undefined) {
    throw new MillraceError("invalid_request", `There is no service manager for ${io.platform} here.`, {
      hint: "`millrace serve --background` needs none.",
    });
  }
  const spec = specOf(context);
  const steps = manager.steps(action, spec);
  if (dryRun) {
    for (const step of steps) {
      out.line(spellStep(step));
      if (step.kind === "write") out.line(step.text.replace("\uFEFF", "").replace(/^/gm, "  ").trimEnd());
    }
    return exitCodes.ok;
  }
  if (action === "status") return status(manager, spec, context);
  if (action !== "install" && action !== "uninstall" && !existsSync(manager.definition(spec))) throw notInstalled();
  if (action === "install" || action === "start") await refuseBesideAnother(context);
  await takeSteps(steps, commandRunner(io.env), signal);
  if (action === "uninstall" || action === "stop") {
    out.line(
      action === "stop" ? "The service has stopped." : "The service is removed. Your turns, key and settings stay.",
    );
    return exitCodes.ok;
  }
  const url = await untilServes(context);
  if (url === undefined) {
    throw new MillraceError(
      "upstream_timeout",
      `The service was started, but it does not answer after ${waitMs / 1000} s.`,
      {
        hint: "`millrace service logs` shows why.",
      },
    );
  }
  out.line(`The service (${manager.title}) serves on ${url}.`);
  if (action === "install") out.line(manager.note);
  return exitCodes.ok;
}

async function status(manager: ServiceManager, spec: ServiceSpec, context: CommandContext): Promise<number> {
  const { io, out, signal } = context;
  if (!existsSync(manager.definition(spec))) throw notInstalled();
  const [step] = manager.steps("status", spec);
  if (step?.kind !== "run") return exitCodes.internal;
  const answer = await commandRunner(io.env)(step.program, step.args, { limitMs: waitMs }, signal);
  if (!answer.ok) throw new MillraceError("degraded", `\`${spellStep(step)}\` failed: ${answer.why}.`);
  const url = await serving(context);
  const isRunning = manager.isRunning(answer.value);
  out.line(`installed   ${manager.definition(spec)}`);
  out.line(`${manager.title.padEnd(11)} ${isRunning ? "runs it" : "does not run it"}`);
  out.line(`gateway     ${url === undefined ? "does not answer" : `serves on ${url}`}`);
  return isRunning && url !== undefined ? exitCodes.ok : exitCodes.negative;
}

function specOf({ io, settings }: CommandContext): ServiceSpec {
  const script = process.argv[1];
  if (script === undefined) throw new MillraceError("internal", "The program does not know its own file.");
  const { env: own } = withoutNpm(io);
  const env = kept.flatMap((name) => (own[name] ? [[name, own[name]] as const] : []));
  return {
    program: process.execPath,
    args: [realpathSync(script), "serve"],
    env: { ...Object.fromEntries(env), [startedByVariable]: "service" },
    homeFolder: io.homeFolder,
    folder: settings.folder,
    configHome: io.env["XDG_CONFIG_HOME"],
    user: windowsUser(io.env),
    uid: process.getuid?.() ?? 0,
  };
}

function windowsUser({ USERDOMAIN: domain, USERNAME: name }: CommandContext["io"]["env"]): string | undefined {
  return domain === undefined || name === undefined ? undefined : `${domain}\\${name}`;
}

/** A gateway that the service did not start has the port: the service would end at once. */
async function refuseBesideAnother({ settings, signal }: CommandContext): Promise<void> {
  const running = await findGateway(settings, signal);
  const address = readGatewayFile(settings.gatewayFile);
  if (running === undefined || address?.startedBy === "service") return;
  throw new MillraceError("invalid_request", `Your gateway already serves on ${running.url}, and not as a service.`, {
    param: "port",
    hint: "Run `millrace stop` first.",
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
  return new MillraceError("invalid_request", "The service is not installed.", {
    hint: "`millrace service install` installs and starts it.",
  });
}
