import { z } from "zod";
import { endHosts, lookAtHosts } from "../../backends/acp/host/hosts.ts";
import { bestEffort } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import { removeIfThere } from "../../base/node/move-file.ts";
import { processRuns } from "../../base/node/process-exists.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import { hostJson, hostsFolder, spellHost } from "../agents/agent-spec.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { dispatch } from "../dispatch.ts";
import { checkStartFiles, startInBackground } from "../gateway-process/background.ts";
import { callGateway, lookForGateway, silentGateway } from "../gateway-process/gateway-client.ts";
import { type GatewayRecord, readGatewayRecord } from "../gateway-process/gateway-file.ts";
import { askHolder, clearHome, holderOf, stopMs } from "../gateway-process/home.ts";
import { endPause, pause, readPause } from "../gateway-process/pause-file.ts";
import { duration, flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { ownGatewayOptions } from "../serve/gateway-options.ts";
import { findPortHolder } from "../serve/port-holder.ts";
import { isServiceInstalled } from "../service/service-spec.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { serveCheck } from "./serve.ts";
import { actOnService } from "./service.ts";

/** The option that `stop` and `restart` share. */
const waitOption = duration("how long to wait for the end of the gateway", stopMs);

export const stopCommand = defineCommand({
  ...outlines.stop,
  description:
    "Stops your gateway, wherever it was started, and waits until it has ended. Clients with an open answer reconnect, and their turns continue at the next start. An agent in the middle of an answer works on, and the next gateway reads it; without one it ends ten minutes after its answer. `--agents` ends it now: it gives answers that are about to end one second, and names the turns that it cuts. It asks the gateway itself, and sends no signal to a process that it knows by its number alone.",
  options: { wait: waitOption, agents: flag("end the agents too that work on an answer"), json: flag("print JSON") },
  examples: [["millrace stop", "exits with 0 also if no gateway runs"]],
  async run({ options }, context) {
    const { out, settings } = context;
    const folder = hostsFolder(settings.folder);
    const open = options.agents ? await leftOpen(folder, context) : undefined;
    const stopped = await stopGateway(options.wait, context);
    if (stopped !== undefined)
      replaceFileSync(settings.stoppedFile, `${new Date(context.io.clock.now()).toISOString()}\n`);
    const agents = await (options.agents ? endHosts(folder) : lookAtHosts(folder));
    const isCut = agents.some(({ running, unread }) => running + unread > 0);
    if (options.json) {
      const gateway = stopped === undefined ? null : { url: placeOf(stopped), pid: stopped.pid };
      const cut = options.agents ? { turns_cut: isCut ? (open ?? []) : [] } : {};
      out.json({ stopped: gateway, agents: agents.map(hostJson), agents_ended: options.agents, ...cut });
      return;
    }
    if (stopped === undefined) out.line("No gateway runs.");
    else out.line(`The gateway at ${placeOf(stopped)} (process ${stopped.pid}) has stopped.`);
    for (const agent of agents)
      out.line(
        options.agents
          ? `Ended: ${spellHost(agent)}.`
          : `Still there: ${spellHost(agent)}. The next gateway takes it over; \`millrace stop --agents\` ends it.`,
      );
    if (options.agents && isCut) out.line(spellCut(open));
  },
});

/** How long an answer that is about to end may take, before agents are ended; ms. */
const lastMs = 1_000;
const turnsSchema = z.object({ data: z.array(z.object({ id: z.string() })) });

/** The ids of the turns that still run once the agents had a moment to end their answers. Undefined where no gateway tells them. */
async function leftOpen(
  folder: string,
  { io, settings, signal }: CommandContext,
): Promise<readonly string[] | undefined> {
  const untilMs = io.clock.monotonic() + lastMs;
  const works = async () => (await lookAtHosts(folder)).some(({ running }) => running > 0);
  while ((await works()) && io.clock.monotonic() < untilMs) await io.clock.sleep(lookEveryMs, signal);
  try {
    const gateway = await lookForGateway(settings, signal);
    if (gateway === undefined || typeof gateway === "string") return undefined;
    const reply = await callGateway(gateway, "/v1/turns?open=true&limit=100", { signal });
    return turnsSchema.parse(await reply.json()).data.map(({ id }) => id);
  } catch {
    return undefined; // the agents are ended in any case
  }
}

/** What the end of the agents costs. A prompt that waits for results has no turn that runs. */
function spellCut(turns: readonly string[] | undefined): string {
  if (turns === undefined) return "Their answers are cut. No gateway ran that knows the turns.";
  if (turns.length > 0) return `Their answers are cut: ${turns.join(", ")}.`;
  return "No answer is cut. A tool loop waited for results: its next request costs another prompt.";
}

export const restartCommand = defineCommand({
  ...outlines.restart,
  description:
    "Stops your gateway and starts it in the background, on the same port and with the same command line; an option given here is added to it. Running turns continue there. If no gateway runs, it starts one. A service is restarted as a service.",
  options: { wait: waitOption, ...ownGatewayOptions },
  examples: [
    ["millrace restart", "after an update, or a change of the configuration file"],
    ["millrace restart --ide devin-next", "with another option from now on"],
  ],
  async run({ options, typed, argv }, context) {
    const { out, settings } = context;
    const running = holderOf(settings.gatewayFile);
    const isService = running === undefined ? isServiceInstalled(context) === true : running.startedBy === "service";
    // What would keep the new one from starting is told while the old one still serves.
    const changes = argv.filter(
      (word, at) => word !== "restart" && !/^--wait(?:=|$)/.test(word) && argv[at - 1] !== "--wait",
    );
    if (isService && changes.length > 0) {
      throw new MillraceError("invalid_request", "A service has no command line to change.", {
        hint: `Put it into the configuration file: \`millrace config set ${[...typed].filter((name) => name !== "wait")[0] ?? "ide"} <value>\`, then \`millrace restart\`.`,
      });
    }
    const next = [...((isService ? undefined : running?.argv) ?? ["serve"]), ...changes];
    const code = await dispatch(
      next.filter((word) => word !== "--json"),
      context.io,
      [serveCheck],
    );
    if (code !== exitCodes.ok) {
      if (running !== undefined) out.note(`Nothing was stopped: the gateway at ${placeOf(running)} still serves.`);
      return code;
    }
    if (isService && context.io.platform === "win32") await stopGateway(options.wait, context);
    if (isService) return actOnService("restart", context);
    checkStartFiles(settings.folder);
    const stopped = await stopGateway(options.wait, context);
    if (typed.has("ide")) removeIfThere(settings.ideFile); // the user's word counts, also where it is the same as before
    if (stopped === undefined) out.note("No gateway ran.");
    else if (stopped.startedBy === "terminal") out.note("It ran on a terminal; now it runs in the background.");
    return startInBackground(onSamePort(next, stopped?.url), context);
  },
});

/** The command line with the port that was used: clients know it, also where it was any free one. */
export function onSamePort(argv: readonly string[], url: string | undefined): readonly string[] {
  if (url === undefined) return argv;
  const kept = argv.filter((word, at) => !/^--port(?:=|$)/.test(word) && argv[at - 1] !== "--port");
  return [...kept, "--port", new URL(url).port];
}

const options = { json: flag("print JSON") };

/** `millrace pause`: the kill switch. It writes a file that every gateway of this folder looks for before each prompt. */
export const pauseCommand = defineCommand({
  ...outlines.pause,
  description:
    "Stops all prompts of your gateways, also after a restart. New requests are refused, and requests in the queue keep waiting. Running answers continue, and stored answers can still be read.",
  options,
  examples: [["millrace pause", "at once; `millrace resume` ends it"]],
  run({ options: { json } }, { io, out, settings }) {
    pause(settings.pauseFile, io.clock.now());
    if (json) out.json({ paused: true, since: readPause(settings.pauseFile)?.since ?? null });
    else out.line("Paused: no prompt is sent until `millrace resume`. Running answers continue.");
    return Promise.resolve();
  },
});

export const resumeCommand = defineCommand({
  ...outlines.resume,
  description: "Serves requests again. Turns in the queue continue within a second.",
  options,
  examples: [["millrace resume", "after `millrace pause`"]],
  run({ options: { json } }, { out, settings }) {
    const wasPaused = endPause(settings.pauseFile);
    if (json) out.json({ paused: false, was_paused: wasPaused });
    else out.line(wasPaused ? "Prompts are sent again." : "Nothing was paused.");
    return Promise.resolve();
  },
});

const lookEveryMs = 50;

/** Where a gateway listens; one that only starts listens nowhere yet. */
function placeOf({ url, socket }: GatewayRecord): string {
  return url ?? socket ?? "its start";
}

/**
 * Stops this user's gateway and waits for its end. Answers where it was; undefined if none runs. The gateway is asked at its door
 * (`home.ts`). No process gets a signal for its number: only one that also listens at the gateway's port.
 *
 * @throws MillraceError `upstream_timeout`: it still runs after `waitMs`; `unavailable`: it does not answer.
 */
export async function stopGateway(
  waitMs: number,
  context: Pick<CommandContext, "io" | "settings" | "signal">,
): Promise<GatewayRecord | undefined> {
  const { io, settings, signal } = context;
  const { gatewayFile: file } = settings;
  const record = holderOf(file);
  if (record === undefined) {
    const left = readGatewayRecord(file);
    if (left !== undefined) clearHome(file, left); // left by one that was killed; another program may have its pid now
    return undefined;
  }
  const { pid, startedBy, instance } = record;
  if (startedBy === "program") {
    throw new MillraceError("invalid_request", `The gateway runs inside another program (process ${pid}).`, {
      hint: "End that program.",
    });
  }
  if (record.isStopping !== true && !(await askHolder(file, "stop")) && !isEnding(file, record))
    await signalHolder(record, context);
  const giveUpAtMs = io.clock.monotonic() + waitMs;
  while (holderOf(file)?.instance === instance) {
    if (io.clock.monotonic() > giveUpAtMs) {
      throw new MillraceError("upstream_timeout", `The gateway (process ${pid}) is still stopping.`, {
        hint: `Wait and look again: \`millrace stop\`. If it hangs, end that process (\`kill -9 ${pid}\`): its turns continue at the next start.`,
      });
    }
    signal.throwIfAborted();
    await bestEffort(io.clock.sleep(lookEveryMs, signal));
  }
  const endedByMs = io.clock.monotonic() + endMs;
  while (processRuns(pid) && io.clock.monotonic() < endedByMs) await bestEffort(io.clock.sleep(lookEveryMs, signal));
  return record;
}

/** Whether the gateway that held the home has left it meanwhile, or is about to: somebody else stopped it. */
function isEnding(file: string, held: GatewayRecord): boolean {
  const now = holderOf(file);
  return now?.instance !== held.instance || now.isStopping === true;
}

/** How long a process may take to end that has left its home; ms. */
const endMs = 1_000;

/**
 * Ends a gateway that does not answer at its door, because it is suspended. The system says that its process listens at its address. It is
 * continued, so that it can end.
 */
async function signalHolder(
  { url, pid }: GatewayRecord,
  { io, settings, signal }: Pick<CommandContext, "io" | "settings" | "signal">,
): Promise<void> {
  const listens = url === undefined ? undefined : await findPortHolder(Number(new URL(url).port), io, signal);
  if (listens?.pid !== pid) throw silentGateway(settings);
  process.kill(pid, "SIGTERM");
  if (io.platform !== "win32") process.kill(pid, "SIGCONT");
}
