import { untilAborted, within } from "../../base/async.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import type { GatewayParts } from "../compose/compose.ts";
import { howToStop, startedBy, startInBackground } from "../gateway-process/background.ts";
import { askConsent } from "../gateway-process/consent.ts";
import { lookForGateway } from "../gateway-process/gateway-client.ts";
import { keepGatewayFile, readGatewayFile } from "../gateway-process/gateway-file.ts";
import { openGatewayLog } from "../gateway-process/gateway-log.ts";
import { backendInUse, spellTarget } from "../gateway-process/health-details.ts";
import { keepKeyFile } from "../gateway-process/key-file.ts";
import { readPause } from "../gateway-process/pause-file.ts";
import { alreadyServes, portReason } from "../gateway-process/port-holder.ts";
import { keepHeapSmall } from "../gateway-process/small-heap.ts";
import { readAccounts } from "../limits/read-accounts.ts";
import { flag, text, texts } from "../options.ts";
import { outlines } from "../outlines.ts";
import { version } from "../package-files.ts";
import { checkGatewayOptions, gatewayOptions } from "../serve/gateway-options.ts";
import { listenSomewhere, openComposed } from "../serve/open-composed.ts";
import { spellOptions } from "../serve/running-options.ts";
import { chosenIde, spellChosenIde } from "../serve/servers.ts";
import { exitCodes } from "../terminal/exit-codes.ts";

export const serveCommand = defineCommand({
  ...outlines.serve,
  description:
    "Runs the gateway. It looks for the IDE at each request, so you can start, restart or update the IDE at any time. Clients need the key that `millrace keys` shows.",
  options: {
    ...gatewayOptions,
    socket: text("listen on this Unix domain socket (mode 0600) in place of a port", "<path>", {
      env: "MILLRACE_SOCKET",
    }),
    allowHost: texts("also accept this name in the Host header", "<name>", {
      check: (raw) => (/^(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])$/.test(raw) ? undefined : "the name of a host, without a port"),
    }),
    allowOrigin: texts("allow web pages of this origin to call the gateway", "<https://origin>", {
      check: (raw) => (URL.parse(raw)?.origin === raw ? undefined : "an origin such as https://notes.example"),
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
  async run({ options, given, argv }, context) {
    const { io, out, settings, signal } = context;
    checkGatewayOptions(io, options);
    if (options.background) {
      if (!options.json && !options.accept) await askConsent(options, context);
      return startInBackground(argv, context);
    }
    const found = await lookForGateway(settings, signal);
    const running = found === "stranger" ? undefined : found; // another program on the old port: this gateway takes another one
    const known = readGatewayFile(settings.gatewayFile);
    if (running !== undefined && options.port !== 0) {
      if (known !== undefined && new URL(running.url).port === String(options.port)) throw alreadyServes(known);
      out.note(`Your gateway is already running at ${running.url}. This is a second one.`);
    }
    const { socket } = options;
    const log = openGatewayLog(io, settings, options.logLevel);
    const composed = await openComposed(options, context, {
      allowedHosts: options.allowHost,
      allowedOrigins: options.allowOrigin,
      log,
    });
    const fixedBy = portReason(given, settings.folder);
    const listening = await listenSomewhere(
      composed.gateway,
      { host: "127.0.0.1", port: options.port, socket, fixedBy },
      context,
    ).catch(async (error: unknown) => {
      await composed.close();
      throw error;
    });
    const base = socket === undefined ? listening.url : "http://localhost"; // what a client says over the socket
    const address = {
      url: listening.url,
      pid: process.pid,
      instance: composed.instance,
      version: version(),
      startedAtMs: io.clock.now(),
      startedBy: startedBy(io.env),
      argv: [...argv],
      options: spellOptions(options),
    };
    const onProblem = (error: unknown) =>
      out.note(
        `${settings.gatewayFile} cannot be written (${error instanceof Error ? error.message : String(error)}). Until it can, other commands do not find this gateway.`,
      );
    keepHeapSmall(composed.events, signal);
    const keptKey = keepKeyFile(composed.ownerKey, io.clock, signal);
    const kept =
      socket === undefined // no URL leads to a socket
        ? keepGatewayFile(settings.gatewayFile, address, { clock: io.clock, onProblem }, signal)
        : undefined;
    if (options.json)
      out.json({ url: listening.url, baseUrl: `${base}/v1`, keyFile: settings.keyFile, pid: process.pid }, "line");
    else {
      const at = { url: listening.url, base, socket, startedBy: address.startedBy };
      for await (const line of firstLines(composed, at, options, context)) out.prose(line);
    }
    if (!options.json && !options.accept) await askConsent(options, context);
    await untilAborted(signal);
    await Promise.all([kept, keptKey]);
    await composed.close(listening);
    return exitCodes.ok;
  },
});

/** Reads and checks the command line of `serve`, with the settings of the file and the environment, and starts nothing. */
export const serveCheck: Command = {
  ...serveCommand,
  run: ({ options }, { io }) => Promise.resolve(checkGatewayOptions(io, options)),
};

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
  const { installedClients, typedCommand } = await import("../clients/installed.ts");
  const millrace = typedCommand(io);
  const open = installedClients({ ...io, ownFolder: settings.folder }).filter(({ isSetUp }) => !isSetUp);
  return [
    `  ask               ${millrace} chat "Hello"`,
    `  look              ${millrace} dashboard`,
    ...open.map(({ client }, at) => `  ${(at === 0 ? "set up" : "").padEnd(18)}${millrace} setup ${client.name}`),
    ...(open.length === 0 ? [`  any client        ${millrace} setup generic`] : []),
  ];
}
