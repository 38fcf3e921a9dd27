import { backendModes } from "../../backends/choose-backend.ts";
import { isPortTaken, type Listening } from "../../gateway/http/listen.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import type { OpenGateway } from "../../gateway/open-gateway.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { type Composed, compose } from "../compose/compose.ts";
import type { AskingOptions } from "../compose/compose-upstream.ts";
import { connectionLimitsOf } from "../compose/connection-limits.ts";
import { overridesOf } from "../compose/ide-options.ts";
import type { RedisAddress } from "../compose/redis-address.ts";
import { retentionOf } from "../compose/retention-options.ts";
import { lookAtConfig } from "../config/look-at-config.ts";
import { readConfig } from "../config/read-config.ts";
import { spellCount } from "../doctor/spell.ts";
import { howToStop, startedBy, startInBackground } from "../gateway-process/background.ts";
import { findGateway } from "../gateway-process/gateway-client.ts";
import { keepGatewayFile, readGatewayFile } from "../gateway-process/gateway-file.ts";
import { logFormats, openGatewayLog } from "../gateway-process/gateway-log.ts";
import { type BackendInUse, describeBackend } from "../gateway-process/health-details.ts";
import { keepKeyFile, readOrMakeKey } from "../gateway-process/key-file.ts";
import { type LogLevel, logLevels, openLogLines } from "../gateway-process/log-lines.ts";
import { nextSteps } from "../gateway-process/next-steps.ts";
import { findPortHolder } from "../gateway-process/port-holder.ts";
import { alreadyServes, type PortReason, portReason, portTaken } from "../gateway-process/port-taken.ts";
import { keepHeapSmall } from "../gateway-process/small-heap.ts";
import { choice, commandLine, duration, explainedBy, flag, integer, redisAddress, text, texts } from "../options.ts";
import { outlines } from "../outlines.ts";
import { version } from "../package-files.ts";
import { describeDamage } from "../terminal/describe-damage.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { spellChosenIde } from "./servers.ts";

export const defaultPort = 42_100;

/** How long an idle trajectory is kept for the next turn of its conversation. */
export const continuityIdleMs = 300_000;

/** Options that every command which runs a gateway has. */
export const gatewayOptions = {
  port: integer(
    "the port; 0 takes any free one. If it is in use, the default falls back to a free port until a client is set up; a port that you set never does",
    "<port>",
    { min: 0, max: 65_535, initial: defaultPort },
    { env: "MILLRACE_PORT" },
  ),
  store: choice(
    "where turns are kept: a file that survives restarts, a Redis server that gateways share, or memory",
    ["sqlite", "redis", "memory"],
    "sqlite",
    { env: "MILLRACE_STORE" },
  ),
  redisUrl: redisAddress("with --store redis, the server; a password belongs in the variable", {
    env: "MILLRACE_REDIS_URL",
  }),
  grace: duration("how long a turn goes on when its client is gone", 120_000, {
    env: "MILLRACE_GRACE",
    defaultText: "2m",
  }),
  retention: duration("how long an answer can be read again, from its end or its last reader on", 7_200_000, {
    env: "MILLRACE_RETENTION",
    defaultText: "2h",
  }),
  retentionCap: duration("how long after its end at most, whoever reads it", undefined, {
    env: "MILLRACE_RETENTION_CAP",
    defaultText: "2h, or the retention where that is longer",
  }),
  continuity: choice("whether a conversation goes on in the trajectory that holds it", ["on", "off"], "on", {
    env: "MILLRACE_CONTINUITY",
  }),
  noImplicitJoin: flag("never join a repeated request to its twin without an idempotency key", {
    env: "MILLRACE_NO_IMPLICIT_JOIN",
  }),
  ide: choice("use only this IDE", ["windsurf", "windsurf-next"], undefined, { env: "MILLRACE_IDE_VARIANT" }),
  home: text("use only the IDE of this home folder: one of several, or a stand-in", "<folder>", {
    env: "MILLRACE_IDE_ONLY_HOME",
  }),
  pid: integer(
    "use only the language server with this process id",
    "<pid>",
    { min: 1, max: 4_294_967_295, initial: undefined },
    { env: "MILLRACE_IDE_PID" },
  ),
  endpoint: text("ask only this language server, instead of looking for one", "<host:port>", {
    env: "MILLRACE_IDE_ENDPOINT",
  }),
  tokenFile: text("a file with that server's CSRF token (and API key on a second line)", "<file>", {
    env: "MILLRACE_IDE_TOKEN_FILE",
  }),
  backend: choice(
    "how models are asked: through the vendor's agent program, Cascade or raw chat; auto takes what works for the installed build",
    backendModes,
    "auto",
    { env: "MILLRACE_BACKEND" },
  ),
  ideTools: choice(
    "what a turn does when the IDE's agent looks something up with its own tools: go on, or stop with an error",
    ["read", "stop"],
    "read",
    { env: "MILLRACE_IDE_TOOLS" },
  ),
  acpCommand: commandLine("start this program as the vendor's agent, instead of the installed one", "<command>", {
    env: "MILLRACE_ACP_COMMAND",
  }),
  logLevel: choice("log from this level on", logLevels, undefined, {
    env: "MILLRACE_LOG_LEVEL",
    defaultText: "warn; info on a terminal and in a file",
  }),
} as const;

/** Those of a gateway that a command runs for itself: its port is nobody else's business. */
const { port: _port, ...unlistened } = gatewayOptions;
export const ownGatewayOptions = explainedBy("serve", unlistened);

export const serveCommand = defineCommand({
  ...outlines.serve,
  description:
    "Runs the gateway. It finds the IDE when a request needs it, so the IDE may start later, restart or update meanwhile. The API key of clients is the one that `millrace key` shows.",
  options: {
    ...gatewayOptions,
    host: text("the address to listen on", "<address>", { defaultText: "127.0.0.1", env: "MILLRACE_HOST" }),
    allowNonLoopback: flag(
      "allow an address beyond this machine: key and prompts then cross that network in clear text",
    ),
    allowHost: texts("accept this Host header too", "<name>"),
    allowOrigin: texts("let pages of this origin call", "<https://origin>"),
    dashboardText: flag("let the dashboard show the texts of prompts and answers, as long as the log keeps them", {
      env: "MILLRACE_DASHBOARD_TEXT",
    }),
    logFormat: choice("how log lines look", logFormats, undefined, {
      env: "MILLRACE_LOG_FORMAT",
      defaultText: "people on a terminal, json elsewhere",
    }),
    logFile: text("write the log to this file, rotated at 10 MB, in place of stderr", "<file>", {
      env: "MILLRACE_LOG_FILE",
      defaultText: "none; ~/.millrace/logs/gateway.log without a terminal",
    }),
    background: flag("start it in the background and return; `millrace stop` stops it"),
    json: flag("print one JSON line when ready"),
  },
  examples: [
    ["millrace serve", "on port 42100"],
    ["millrace serve --background", "without a terminal of its own"],
    ["millrace serve --port 0 --json", "on any free port, for a script"],
    ["millrace serve --grace 10m", "let answers go on for ten minutes without a client"],
  ],
  async run({ options, given, argv }, context) {
    const { io, out, settings, signal } = context;
    if (options.background) return startInBackground(argv, context);
    const running = await findGateway(settings, signal);
    const known = readGatewayFile(settings.gatewayFile);
    if (running !== undefined && options.port !== 0) {
      if (known !== undefined && new URL(running.url).port === String(options.port)) throw alreadyServes(known);
      out.note(`Your gateway already serves on ${running.url}; this is another one.`);
    }
    const config = readConfig(settings.configFile);
    const composed = await openComposed(options, context, {
      allowedHosts: options.allowHost,
      allowedOrigins: options.allowOrigin,
      dashboardText: options.dashboardText,
      log: openGatewayLog(io, settings, options),
    });
    const listening = await listenSomewhere(
      composed.gateway,
      {
        host: options.host ?? "127.0.0.1",
        port: options.port,
        allowNonLoopback: options.allowNonLoopback,
        fixedBy: portReason(given, settings.folder),
      },
      context,
    ).catch(async (error: unknown) => {
      await composed.close();
      throw error;
    });
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
        `${settings.gatewayFile} cannot be written (${error instanceof Error ? error.message : String(error)}): until it can, other commands of Millrace do not find this gateway.`,
      );
    keepHeapSmall(signal);
    const keptKey = keepKeyFile(settings.keyFile, composed.key, io.clock, signal);
    const kept = keepGatewayFile(settings.gatewayFile, address, { clock: io.clock, onProblem }, signal);
    if (options.json)
      out.line(
        JSON.stringify({
          url: listening.url,
          baseUrl: `${listening.url}/v1`,
          keyFile: settings.keyFile,
          pid: process.pid,
        }),
      );
    else {
      out.line(`Millrace ${version()} serves on ${listening.url}`);
      out.line(`  OpenAI base URL   ${listening.url}/v1`);
      out.line(`  key               ${settings.keyFile} (\`millrace key --value\` prints it)`);
      out.line(`  prompts go to     ${await spellBackend(composed, signal)}`);
      const ide = spellChosenIde(await composed.finder.find(signal));
      if (ide !== undefined) out.line(`  IDE               ${ide}`);
      for (const line of await nextSteps(context)) out.line(line);
      out.line(howToStop(address.startedBy));
    }
    io.onHangUp?.(() => out.note(lookAtConfig(settings.configFile, config)));
    await untilAborted(signal);
    await Promise.all([kept, keptKey]);
    await composed.close(listening);
    return exitCodes.ok;
  },
});

/** Where prompts go now, and why; while nothing can be asked, why not. A later prompt looks again. */
async function spellBackend({ backends }: Composed, signal: AbortSignal): Promise<string> {
  let described: BackendInUse;
  try {
    described = await describeBackend(backends, signal);
  } catch (error) {
    if (signal.aborted) return "nothing: it is being stopped";
    throw error;
  }
  const { kind, why, product } = described;
  if (kind === "none") return `nothing yet: ${why}`;
  const to = product ?? { acp: "the agent program", cascade: "Cascade", raw_chat: "raw chat" }[kind];
  return `${to}${kind === "acp" ? " (ACP)" : ""}: ${why}`;
}

/** What the options of a gateway command parse to. */
export interface GatewayCommandOptions extends AskingOptions {
  readonly store: "sqlite" | "redis" | "memory";
  readonly redisUrl: RedisAddress;
  readonly grace: number;
  readonly retention: number;
  readonly retentionCap: number | undefined;
  readonly continuity: "on" | "off";
  readonly noImplicitJoin: boolean;
  readonly ide: "windsurf" | "windsurf-next" | undefined;
  readonly home?: string | undefined;
  readonly pid?: number | undefined;
  readonly endpoint: string | undefined;
  readonly tokenFile: string | undefined;
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
    folder: settings.folder,
    logKeyFile: settings.logKeyFile,
    storeFile: options.store === "memory" ? undefined : settings.storeFile,
    redis: options.store === "redis" ? options.redisUrl : undefined,
    graceMs: options.grace,
    retention: retentionOf(options.retention, options.retentionCap),
    implicitJoins: !options.noImplicitJoin,
    dashboardText: extra.dashboardText ?? false,
    continuityIdleMs: options.continuity === "on" ? continuityIdleMs : undefined,
    allowedHosts: extra.allowedHosts ?? [],
    allowedOrigins: extra.allowedOrigins ?? [],
  });
  if (composed.damage !== undefined) out.note(describeDamage(composed.damage));
  if (composed.unreadableTurns > 0)
    out.note(
      `The key that seals the log (${settings.logKeyFile}) was gone, and a new one was made: ${spellCount(composed.unreadableTurns, "turn")} kept under the old one cannot be read. Stop, put the old key back and start again, if you have it.`,
    );
  if (composed.degradedBy !== undefined)
    out.note(
      `${composed.degradedBy.message} Answers flow all the same, from memory, until it can be used: ${composed.degradedBy.hint}`,
    );
  return composed;
}

/** Listens on the port. If it is in use, throws who has it where the port is fixed, and else takes a free one and says so. */
export async function listenSomewhere(
  gateway: OpenGateway,
  {
    fixedBy,
    ...where
  }: {
    readonly host: string;
    readonly port: number;
    readonly allowNonLoopback?: boolean;
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
    out.note(`Port ${where.port} is in use by another program; this is ${listening.port} instead.`);
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
