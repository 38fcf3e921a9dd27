import { backendModes } from "../../backends/choose-backend.ts";
import { MillraceError } from "../../base/errors.ts";
import { isPortTaken, type Listening, type ListenOptions } from "../../gateway/http/listen.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import { readSocketAddress, type SocketAddress, spellSocketGuard } from "../../gateway/http/socket-address.ts";
import { openTlsFiles } from "../../gateway/http/tls-files.ts";
import type { OpenGateway } from "../../gateway/open-gateway.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { type Composed, compose } from "../compose/compose.ts";
import type { AskingOptions } from "../compose/compose-upstream.ts";
import { connectionLimitsOf } from "../compose/connection-limits.ts";
import { overridesOf } from "../compose/ide-options.ts";
import type { RedisAddress } from "../compose/redis-address.ts";
import { retentionOf } from "../compose/retention-options.ts";
import { readConfig } from "../config/read-config.ts";
import { openReload } from "../config/reload.ts";
import { spellCount } from "../doctor/spell.ts";
import { askConsent } from "../gateway-process/ask-consent.ts";
import { howToStop, startedBy, startInBackground } from "../gateway-process/background.ts";
import { findGateway } from "../gateway-process/gateway-client.ts";
import { keepGatewayFile, readGatewayFile } from "../gateway-process/gateway-file.ts";
import { logFormats, openGatewayLog } from "../gateway-process/gateway-log.ts";
import { type BackendInUse, describeBackend } from "../gateway-process/health-details.ts";
import { keepKeyFile, readOrMakeKey } from "../gateway-process/key-file.ts";
import { type LogLevel, logLevels, openLogLines } from "../gateway-process/log-lines.ts";
import { nextSteps } from "../gateway-process/next-steps.ts";
import { readPause } from "../gateway-process/pause-file.ts";
import { findPortHolder } from "../gateway-process/port-holder.ts";
import { alreadyServes, type PortReason, portReason, portTaken } from "../gateway-process/port-taken.ts";
import { keepHeapSmall } from "../gateway-process/small-heap.ts";
import { sharedMost } from "../keys/turn-limit.ts";
import { choice, commandLine, duration, explainedBy, flag, integer, text, texts } from "../options.ts";
import { outlines } from "../outlines.ts";
import { version } from "../package-files.ts";
import { storeOptions } from "../store-options.ts";
import { type OtlpReceiver, otlpReceiver } from "../telemetry/otlp-receiver.ts";
import { describeDamage } from "../terminal/describe-damage.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { spellChosenIde } from "./servers.ts";

export const defaultPort = 42_100;

/** How long an idle trajectory is kept for the next turn of its conversation. */
export const continuityIdleMs = 300_000;

/** Options that every command which runs a gateway has. */
export const gatewayOptions = {
  port: integer(
    "port to listen on; 0 picks any free one. If the default is in use, Millrace picks a free one and prints it, until a client is set up; a port that you set is never replaced",
    "<port>",
    { min: 0, max: 65_535, initial: defaultPort },
    { env: "MILLRACE_PORT" },
  ),
  ...storeOptions,
  grace: duration("how long an answer continues after its client disconnects", 120_000, {
    env: "MILLRACE_GRACE",
    defaultText: "2m",
  }),
  maxTurns: integer(
    "how many turns may run at the same time in one IDE; the others wait in a queue that is fair across keys; 0 is no limit",
    "<number>",
    { min: 0, max: 10_000, initial: undefined },
    { env: "MILLRACE_MAX_TURNS", defaultText: `no limit; ${sharedMost} while a key for others works` },
  ),
  retention: duration("how long a finished answer is kept; the time starts again when someone reads it", 7_200_000, {
    env: "MILLRACE_RETENTION",
    defaultText: "2h",
  }),
  retentionCap: duration("maximum time a finished answer is kept, even if it is still being read", undefined, {
    env: "MILLRACE_RETENTION_CAP",
    defaultText: "2h, or --retention if that is longer",
  }),
  continuity: choice("reuse the IDE's conversation for follow-up messages", ["on", "off"], "on", {
    env: "MILLRACE_CONTINUITY",
  }),
  noImplicitJoin: flag("do not merge identical requests that lack an idempotency key", {
    env: "MILLRACE_NO_IMPLICIT_JOIN",
  }),
  ide: choice("use only this IDE", ["windsurf", "windsurf-next"], undefined, { env: "MILLRACE_IDE_VARIANT" }),
  home: text("use only the IDE whose home folder this is, for example a stand-in", "<folder>", {
    env: "MILLRACE_IDE_ONLY_HOME",
  }),
  pid: integer(
    "use only the language server with this process id",
    "<pid>",
    { min: 1, max: 4_294_967_295, initial: undefined },
    { env: "MILLRACE_IDE_PID" },
  ),
  endpoint: text("use this language server and do not search for others", "<host:port>", {
    env: "MILLRACE_IDE_ENDPOINT",
  }),
  tokenFile: text("file with the CSRF token of that server; its API key may follow on a second line", "<file>", {
    env: "MILLRACE_IDE_TOKEN_FILE",
  }),
  backend: choice(
    "how Millrace reaches the models: the IDE's agent program, Cascade, or raw chat; auto picks what the installed build supports",
    backendModes,
    "auto",
    { env: "MILLRACE_BACKEND" },
  ),
  ideTools: choice(
    "when the IDE's agent uses its own tools to look something up: read lets it, stop ends the turn with an error",
    ["read", "stop"],
    "read",
    { env: "MILLRACE_IDE_TOOLS" },
  ),
  acpCommand: commandLine("start this program in place of the installed agent", "<command>", {
    env: "MILLRACE_ACP_COMMAND",
  }),
  accept: flag(
    "agree once, in place of `millrace accept`, that prompts go to the IDE and use the plan of its account",
    {
      env: "MILLRACE_ACCEPT",
    },
  ),
  logLevel: choice("write log lines of this level and above", logLevels, undefined, {
    env: "MILLRACE_LOG_LEVEL",
    defaultText: "warn; info on a terminal and in a file",
  }),
} as const;

/** Options of a gateway that a command runs for itself: without a port. */
const { port: _port, ...unlistened } = gatewayOptions;
export const ownGatewayOptions = explainedBy("serve", unlistened);

/** Longer than 300 lines: a third of it is the table of options, which other commands share. */
export const serveCommand = defineCommand({
  ...outlines.serve,
  description:
    "Runs the gateway. It looks for the IDE at each request, so you can start, restart or update the IDE at any time. Clients need the key that `millrace key` shows.",
  options: {
    ...gatewayOptions,
    host: text("address to listen on", "<address>", { defaultText: "127.0.0.1", env: "MILLRACE_HOST" }),
    tlsCert: text("serve over TLS with this certificate (PEM); read again when it changes", "<file>", {
      env: "MILLRACE_TLS_CERT",
    }),
    tlsKey: text("the key of that certificate (PEM)", "<file>", { env: "MILLRACE_TLS_KEY" }),
    allowCleartext: flag(
      "allow --host to be an address that other machines can reach without TLS; key and prompts then travel unencrypted",
    ),
    socket: text(
      "listen on this Unix domain socket (mode 0600), on Windows on this named pipe, in place of an address and port",
      "<path>",
      { env: "MILLRACE_SOCKET" },
    ),
    allowHost: texts("also accept this name in the Host header", "<name>"),
    allowOrigin: texts("allow web pages of this origin to call the gateway", "<https://origin>"),
    dashboardText: flag("show the text of prompts and answers on the dashboard while they are kept", {
      env: "MILLRACE_DASHBOARD_TEXT",
    }),
    otlpEndpoint: text(
      "send OpenTelemetry traces of turns, without their texts, to this receiver of OTLP over HTTP; `env` takes OTEL_EXPORTER_OTLP_ENDPOINT",
      "<url>",
      { env: "MILLRACE_OTLP_ENDPOINT" },
    ),
    logFormat: choice("format of log lines", logFormats, undefined, {
      env: "MILLRACE_LOG_FORMAT",
      defaultText: "people on a terminal, json elsewhere",
    }),
    logFile: text("write the log to this file, rotated at 10 MB, in place of stderr", "<file>", {
      env: "MILLRACE_LOG_FILE",
      defaultText: "stderr; ~/.millrace/logs/gateway.log in the background or as a service",
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
    if (options.background) {
      if (!options.json && !options.accept) await askConsent(options, context);
      return startInBackground(argv, context);
    }
    const running = await findGateway(settings, signal);
    const known = readGatewayFile(settings.gatewayFile);
    if (running !== undefined && options.port !== 0) {
      if (known !== undefined && new URL(running.url).port === String(options.port)) throw alreadyServes(known);
      out.note(`Your gateway is already running at ${running.url}. This is a second one.`);
    }
    const { host = "127.0.0.1", allowCleartext } = options;
    const socket = options.socket === undefined ? undefined : readSocketAddress(options.socket, io.platform);
    const givenTls = tlsOf(options, context);
    let tls = givenTls;
    const where = { host, allowCleartext, socket, tls: givenTls && (() => (tls ?? givenTls)()) };
    const log = openGatewayLog(io, settings, options);
    const composed = await openComposed(options, context, {
      allowedHosts: options.allowHost,
      allowedOrigins: options.allowOrigin,
      dashboardText: options.dashboardText,
      log,
      otlp: otlpReceiver(options.otlpEndpoint, io.env),
    });
    const fixedBy = portReason(given, settings.folder);
    const listening = await listenSomewhere(composed.gateway, { ...where, port: options.port, fixedBy }, context).catch(
      async (error: unknown) => {
        await composed.close();
        throw error;
      },
    );
    const base = socket === undefined ? listening.url : "http://localhost"; // what a client says over the socket
    const address = {
      url: listening.url,
      pid: process.pid,
      instance: composed.instance,
      version: version(),
      startedAtMs: io.clock.now(),
      startedBy: startedBy(io.env),
      argv: [...argv],
    };
    const onProblem = (error: unknown) =>
      out.note(
        `${settings.gatewayFile} cannot be written (${error instanceof Error ? error.message : String(error)}). Until it can, other commands do not find this gateway.`,
      );
    keepHeapSmall(composed.events, signal);
    const keptKey = keepKeyFile(settings.keyFile, composed.key, io.clock, signal);
    const kept =
      socket === undefined // no URL leads to a socket
        ? keepGatewayFile(settings.gatewayFile, address, { clock: io.clock, onProblem }, signal)
        : undefined;
    if (options.json)
      out.line(
        JSON.stringify({
          url: listening.url,
          baseUrl: `${base}/v1`,
          keyFile: settings.keyFile,
          pid: process.pid,
        }),
      );
    else {
      out.prose(`Millrace ${version()} serves on ${listening.url}`);
      if (socket !== undefined) out.prose(`  guard             ${spellSocketGuard(socket)}`);
      out.prose(`  OpenAI base URL   ${base}/v1`);
      out.prose(`  key               ${settings.keyFile} (\`millrace key --value\` prints it)`);
      out.prose(`  prompts go to     ${await spellBackend(composed, signal)}`);
      const ide = spellChosenIde(await composed.finder.find(signal), options);
      if (ide !== undefined) out.prose(`  IDE               ${ide}`);
      if (readPause(settings.pauseFile) !== undefined)
        out.prose("  PAUSED            no prompt is sent until `millrace resume`");
      for (const line of await nextSteps(context)) out.prose(line);
      out.prose(howToStop(address.startedBy));
    }
    const reload = openReload({ command: serveCommand, argv, io, file: settings.configFile, options }, [
      { of: ["logLevel"], apply: ({ logLevel }) => log.setLevel(logLevel as LogLevel | undefined) },
      { of: ["maxTurns"], apply: ({ maxTurns }) => composed.limitTurns(maxTurns as number | undefined) },
      {
        of: ["tlsCert", "tlsKey"],
        isLive: (now) => givenTls !== undefined && now["tlsCert"] !== undefined && now["tlsKey"] !== undefined,
        apply: (now) => (tls = tlsOf(now as typeof options, context)),
      },
    ]);
    io.onHangUp?.(() => void reload().then((lines) => lines.forEach((line) => out.note(line))));
    if (!options.json && !options.accept) await askConsent(options, context);
    await untilAborted(signal);
    await Promise.all([kept, keptKey]);
    await composed.close(listening);
    return exitCodes.ok;
  },
});

/** The certificate of the port, where there is to be one. Throws `invalid_request`. */
function tlsOf(
  { tlsCert, tlsKey, socket }: { readonly [_ in "tlsCert" | "tlsKey" | "socket"]: string | undefined },
  { out }: CommandContext,
): ListenOptions["tls"] {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined)
    throw new MillraceError("invalid_request", "TLS needs both --tls-cert and --tls-key.", { hint: "Give both." });
  if (socket !== undefined)
    throw new MillraceError("invalid_request", "A socket or a pipe needs no TLS.", {
      hint: "Leave one of both out.",
    });
  const onProblem = ({ message }: Error) => out.note(`${message} Millrace keeps using the earlier certificate.`);
  return openTlsFiles({ certFile: tlsCert, keyFile: tlsKey, onProblem });
}

/** Where prompts go now, and why; while nothing can be asked, why not. A later prompt looks again. */
async function spellBackend({ backends }: Composed, signal: AbortSignal): Promise<string> {
  let described: BackendInUse;
  try {
    described = await describeBackend(backends, signal);
  } catch (error) {
    if (signal.aborted) return "nothing: it is being stopped";
    throw error;
  }
  const { kind, why, product, beside } = described;
  if (kind === "none") return `nothing yet: ${why}`;
  const to = product ?? { acp: "the agent program", cascade: "Cascade", raw_chat: "raw chat" }[kind];
  const others = beside === undefined ? "" : `; models that only its agent offers go to ${beside} (ACP)`;
  return `${to}${kind === "acp" ? " (ACP)" : ""}: ${why}${others}`;
}

/** What the options of a gateway command parse to. */
export interface GatewayCommandOptions extends AskingOptions {
  readonly store: "sqlite" | "redis" | "memory";
  readonly redisUrl: RedisAddress;
  readonly grace: number;
  readonly maxTurns?: number | undefined;
  readonly retention: number;
  readonly retentionCap: number | undefined;
  readonly continuity: "on" | "off";
  readonly noImplicitJoin: boolean;
  readonly ide: "windsurf" | "windsurf-next" | undefined;
  readonly home?: string | undefined;
  readonly pid?: number | undefined;
  readonly endpoint: string | undefined;
  readonly tokenFile: string | undefined;
  readonly accept?: boolean | undefined;
  readonly logLevel: LogLevel | undefined;
}

/** The parts of a gateway as its command's options want them. */
export async function openComposed(
  options: GatewayCommandOptions,
  { io, out, settings }: CommandContext,
  extra: {
    readonly allowedHosts?: readonly string[];
    readonly allowedOrigins?: readonly string[];
    readonly onlyHome?: string;
    readonly dashboardText?: boolean;
    readonly log?: GatewayLog;
    readonly otlp?: OtlpReceiver | undefined;
  } = {},
): Promise<Composed> {
  const asked = overridesOf(io, options);
  const overrides = extra.onlyHome === undefined ? asked : { ...asked, onlyHome: extra.onlyHome };
  const composed = await compose({
    io,
    overrides,
    config: readConfig(settings.configFile),
    backend: options.backend,
    acpCommand: options.acpCommand,
    ideTools: options.ideTools,
    log: extra.log ?? openLogLines(io, options.logLevel ?? "warn"),
    key: readOrMakeKey(settings.keyFile),
    keyFile: settings.keyFile,
    keysFile: settings.keysFile,
    folder: settings.folder,
    logKeyFile: settings.logKeyFile,
    storeFile: options.store === "memory" ? undefined : settings.storeFile,
    redis: options.store === "redis" ? options.redisUrl : undefined,
    graceMs: options.grace,
    mostTurns: options.maxTurns,
    pauseFile: settings.pauseFile,
    accept: options.accept ?? false,
    retention: retentionOf(options.retention, options.retentionCap),
    implicitJoins: !options.noImplicitJoin,
    dashboardText: extra.dashboardText ?? false,
    otlp: extra.otlp,
    continuityIdleMs: options.continuity === "on" ? continuityIdleMs : undefined,
    allowedHosts: extra.allowedHosts ?? [],
    allowedOrigins: extra.allowedOrigins ?? [],
  });
  if (composed.damage !== undefined) out.note(describeDamage(composed.damage));
  if (composed.unreadableTurns > 0)
    out.note(
      `The key of the log (${settings.logKeyFile}) was missing, so Millrace made a new one. ${spellCount(composed.unreadableTurns, "turn")} of the old key cannot be read. If you have the old key: stop, put it back, and start again.`,
    );
  if (composed.degradedBy !== undefined)
    out.note(
      `${composed.degradedBy.message} Until it can be used, Millrace keeps answers in memory only. ${composed.degradedBy.hint}`,
    );
  return composed;
}

/** Listens on the port. If a fixed port is in use, throws an error that names its process. Otherwise picks a free one and prints it. */
export async function listenSomewhere(
  gateway: OpenGateway,
  {
    fixedBy,
    ...where
  }: {
    readonly host: string;
    readonly port: number;
    readonly allowCleartext?: boolean;
    readonly tls?: ListenOptions["tls"];
    readonly socket?: SocketAddress | undefined;
    readonly fixedBy?: PortReason | undefined;
  },
  { io, out, signal }: CommandContext,
): Promise<Listening> {
  const limits = connectionLimitsOf(io.env);
  try {
    return await gateway.listen({ ...where, limits });
  } catch (error) {
    if (!isPortTaken(error)) throw error;
    if (fixedBy !== undefined)
      throw portTaken(where.port, await findPortHolder(where.port, io.platform, signal), fixedBy);
    const listening = await gateway.listen({ ...where, limits, port: 0 });
    out.note(`Port ${where.port} is in use by another program. Millrace uses port ${listening.port}.`);
    return listening;
  }
}

/** Resolves when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
