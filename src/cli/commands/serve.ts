import { randomUUID } from "node:crypto";
import { untilAborted, within } from "../../base/async.ts";
import { removeIfThere } from "../../base/node/move-file.ts";
import { isOrigin } from "../../gateway/http/guard.ts";
import { isPortTaken, type Listener } from "../../gateway/http/listen.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { compose, type GatewayParts } from "../compose/compose.ts";
import { askConsent } from "../compose/consent.ts";
import { backendInUse, spellTarget } from "../compose/health-details.ts";
import { howToStop, startedBy, startInBackground } from "../gateway-process/background.ts";
import type { GatewayRecord } from "../gateway-process/gateway-file.ts";
import { openGatewayLog } from "../gateway-process/gateway-log.ts";
import { alreadyServes, askHolder, holderOf, takeHome } from "../gateway-process/home.ts";
import { untilIdle } from "../gateway-process/idle-end.ts";
import { readPause } from "../gateway-process/pause-file.ts";
import { readAccounts } from "../limits/read-accounts.ts";
import { choice, flag, text, texts } from "../options.ts";
import { outlines } from "../outlines.ts";
import { version } from "../package-files.ts";
import { checkGatewayOptions, gatewayOptions } from "../serve/gateway-options.ts";
import { findPortHolder, type PortReason, portReason, portTaken } from "../serve/port-holder.ts";
import { spellOptions } from "../serve/running-options.ts";
import { chosenIde, spellChosenIde } from "../serve/servers.ts";
import type { Settings } from "../settings.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { typedCommand } from "../terminal/own-command.ts";
import { spellCount } from "../terminal/spell.ts";

export const serveCommand = defineCommand({
  ...outlines.serve,
  description:
    "Runs the gateway. It looks for the IDE at each request, so you can start, restart or update the IDE at any time. Clients need the key that `millrace keys` shows.",
  options: {
    ...gatewayOptions,
    model: text("the default model, by any of its names", "<name>", {
      env: "MILLRACE_MODEL",
      defaultText: "the account's default",
    }),
    showTexts: choice(
      "show prompts and answers on the dashboard; each browser can switch that for itself",
      ["on", "off"],
      "off",
      {
        env: "MILLRACE_SHOW_TEXTS",
      },
    ),
    socket: text("listen on this Unix domain socket (mode 0600) in place of a port", "<path>", {
      env: "MILLRACE_SOCKET",
    }),
    allowHost: texts("also accept this name in the Host header", "<name>", {
      check: (raw) => (/^(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])$/.test(raw) ? undefined : "the name of a host, without a port"),
    }),
    allowOrigin: texts("allow web pages of this origin to call the gateway", "<https://origin>", {
      check: (raw) => (isOrigin(raw) ? undefined : "an origin such as https://notes.example or app://obsidian.md"),
    }),
    background: flag("start it in the background and return; `millrace stop` stops it"),
    json: flag("print one line of JSON when ready"),
  },
  examples: [
    ["millrace serve", "on port 42100"],
    ["millrace serve --background", "in the background, without a terminal"],
    ["millrace serve --port 0 --json", "on any free port, for a script"],
    ["millrace serve --grace 10m", "let an answer continue for ten minutes after its client disconnects"],
  ],
  async run({ options, given, typed, argv }, context) {
    const { io, out, settings, signal } = context;
    checkGatewayOptions(io, options);
    if (options.background) {
      const holder = holderOf(settings.gatewayFile);
      if (holder !== undefined && holder.isStopping !== true) {
        const isAsked = startedBy(io.env) !== "command" && argv.every((word) => keepsOptions.has(word));
        if (!isAsked || !(await letStay(holder, settings.gatewayFile))) throw alreadyServes(holder, io.clock.now());
        out.line(`Your gateway at ${holder.url ?? holder.socket} stays now. \`millrace stop\` stops it.`);
        return exitCodes.ok;
      }
      if (!options.json && !options.accept) await askConsent(options, context);
      return startInBackground(argv, context);
    }
    if (!options.json && !options.accept) await askConsent(options, context);
    const by = startedBy(io.env);
    const record = {
      pid: process.pid,
      instance: randomUUID(),
      version: version(),
      startedAtMs: io.clock.now(),
      startedBy: by,
      argv: by === "command" ? argv.filter((word) => word !== "--json") : [...argv],
      options: spellOptions(options),
    };
    const told = { clock: io.clock, note: (text: string) => out.note(text) };
    const home = await takeHome(settings.gatewayFile, record, told, signal);
    try {
      removeIfThere(settings.stoppedFile);
      const composed = await compose({
        io,
        settings,
        options: typed.has("model") ? options : { ...options, model: undefined }, // else it is read anew
        home,
        log: openGatewayLog(io, settings, options.logLevel),
        allowedHosts: options.allowHost,
        allowedOrigins: options.allowOrigin,
      });
      for (const note of startNotes(composed, settings)) out.note(note);
      const { port, socket } = options;
      const fixedBy = portReason(given, settings.folder);
      const listening = await listenSomewhere(composed, { port, socket, fixedBy }, context);
      const stop = AbortSignal.any([signal, home.asked]);
      const address = socket === undefined ? { url: listening.url } : { socket };
      home.serves(address);
      for (const problem of await composed.doors.adjust()) out.note(problem);
      const base = socket === undefined ? listening.url : "http://localhost"; // what a client says over the socket
      if (options.json)
        out.json({ url: listening.url, baseUrl: `${base}/v1`, keyFile: settings.keyFile, pid: process.pid }, "line");
      else {
        const at = { url: listening.url, base, socket, startedBy: by };
        for await (const line of firstLines(composed, at, options, context)) out.prose(line);
      }
      if (by === "command") {
        const isWorking = () => composed.isWorking();
        const all = { connections: () => composed.doors.withConnections(listening.connections()) };
        await untilIdle({ listening: all, isWorking, home, address }, io.clock, AbortSignal.any([stop, home.stays]));
      }
      if (by !== "command" || home.stays.aborted) await untilAborted(stop);
      home.stops();
      await composed.close(listening);
      return exitCodes.ok;
    } finally {
      home.leave();
    }
  },
});

/** The words of a command line that leave a running gateway as it is. */
const keepsOptions = new Set(["serve", "--background", "--accept"]);

/** Whether a gateway that a command started stays from now on, as the user asks. One of another version does not know the word. */
async function letStay({ startedBy: by, version: of }: GatewayRecord, file: string): Promise<boolean> {
  return by === "command" && of === version() && (await askHolder(file, "stay"));
}

/** Reads and checks the command line of `serve`, with the settings of the file and the environment, and starts nothing. */
export const serveCheck: Command = {
  ...serveCommand,
  run: ({ options }, { io }) => Promise.resolve(checkGatewayOptions(io, options)),
};

/** What the user must know of the store, as it was opened. */
function startNotes(
  { damage, unreadableTurns, degradedBy }: GatewayParts,
  { logKeyFile }: Settings,
): readonly string[] {
  return [
    damage === undefined
      ? ""
      : `The store was damaged. Its file is kept as ${damage.copy}, and a new log was begun. A request that is repeated under an earlier idempotency key may be asked once more.`,
    unreadableTurns === 0
      ? ""
      : `The key of the log (${logKeyFile}) was missing, so Millrace made a new one. ${spellCount(unreadableTurns, "turn")} of the old key cannot be read. If you have the old key: stop, put it back, and start again.`,
    degradedBy === undefined
      ? ""
      : `${degradedBy.message} Until it can be used, Millrace keeps answers in memory only. ${degradedBy.hint}`,
  ].filter((note) => note !== "");
}

/** Listens on the port. If a fixed port is in use, throws an error that names its process. Otherwise picks a free one and prints it. */
async function listenSomewhere(
  composed: GatewayParts,
  { port, socket, fixedBy }: { port: number; socket: string | undefined; fixedBy: PortReason | undefined },
  { io, out, signal }: CommandContext,
): Promise<Listener> {
  const where = { host: "127.0.0.1", port, socket };
  try {
    return await composed.gateway.listen(where).catch(async (error: unknown) => {
      if (!isPortTaken(error)) throw error;
      if (fixedBy !== undefined) throw portTaken(port, await findPortHolder(port, io, signal), fixedBy);
      const listening = await composed.gateway.listen({ ...where, port: 0 });
      out.note(`Port ${port} is in use by another program. Millrace uses port ${listening.port}.`);
      return listening;
    });
  } catch (error) {
    await composed.close();
    throw error;
  }
}

/** The start waits no longer than this for the name of the plan; ms. */
const planMs = 1_000;

/** Where a gateway listens. `base`: the address that a client uses. */
interface ServingAt {
  readonly url: string;
  readonly base: string;
  readonly socket: string | undefined;
  readonly startedBy: Parameters<typeof howToStop>[0];
}

/** The lines that `millrace serve` prints once it listens. They come one by one, because some of them ask the IDE. */
async function* firstLines(
  composed: GatewayParts,
  { url, base, socket, startedBy }: ServingAt,
  named: Parameters<typeof spellChosenIde>[1],
  context: CommandContext,
): AsyncGenerator<string, void> {
  const { settings } = context;
  yield `Millrace ${version()} serves on ${url}`;
  if (socket !== undefined)
    yield "  guard             mode 0600: only your user connects, and each request needs the key";
  yield `  OpenAI base URL   ${base}/v1`;
  yield `  key               ${settings.keyFile} (\`millrace keys --value\` prints it)`;
  yield `  prompts go to     ${await promptsGoTo(composed, named, context)}`;
  if (readPause(settings.pauseFile) !== undefined)
    yield "  PAUSED            no prompt is sent until `millrace resume`";
  yield* await nextSteps(context);
  yield howToStop(startedBy);
}

/** Where prompts go now, and why there. A later prompt looks again. */
async function promptsGoTo(
  { backends, finder }: GatewayParts,
  named: Parameters<typeof spellChosenIde>[1],
  { io, signal }: CommandContext,
): Promise<string> {
  try {
    const [backend, found] = [await backendInUse(backends, signal), await finder.find(signal)];
    const accounts = (await within(readAccounts(finder, signal), planMs, io.clock)) ?? [];
    const editor = accounts.find(({ pid, signed_in: isIn }) => isIn && pid !== null && pid === chosenIde(found)?.pid);
    return spellTarget(backend, spellChosenIde(found, { ...named, plan: editor?.plan ?? undefined }));
  } catch (error) {
    if (signal.aborted) return "nothing: it is being stopped";
    throw error;
  }
}

/** Lines of the start-up output that show commands to type next. */
async function nextSteps({ io, settings }: Pick<CommandContext, "io" | "settings">): Promise<readonly string[]> {
  const { installedClients } = await import("../clients/installed.ts");
  const millrace = typedCommand(io);
  const open = installedClients({ ...io, ownFolder: settings.folder }).filter(({ isSetUp }) => !isSetUp);
  return [
    `  ask               ${millrace} chat "Hello"`,
    `  look              ${millrace} dashboard`,
    ...open.map(({ client }, at) => `  ${(at === 0 ? "set up" : "").padEnd(18)}${millrace} setup ${client.name}`),
    ...(open.length === 0 ? [`  any client        ${millrace} setup generic`] : []),
  ];
}
