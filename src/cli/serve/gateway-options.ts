import { toolWays } from "../../backends/acp/session/native-knowledge.ts";
import { backendModes } from "../../backends/route/choose-backend.ts";
import { MillraceError } from "../../base/errors.ts";
import { longestSocket } from "../../base/node/socket-address.ts";
import { type IdeOverrides, parseOverrides } from "../../ide/discover/overrides.ts";
import { defaultRetention } from "../../log/store.ts";
import type { OptionValues } from "../command.ts";
import { logLevels } from "../gateway-process/gateway-log.ts";
import { sharedMost } from "../keys/key-record.ts";
import { choice, commandLine, duration, flag, ideChoice, integer, ofServe, redisAddress, text } from "../options.ts";
import type { Io } from "../terminal/output.ts";

export const defaultPort = 42_100;

/** How long an idle trajectory is kept for the next turn of its conversation. */
export const continuityIdleMs = 600_000;

/** Options that every command which runs a gateway has. */
export const gatewayOptions = {
  port: integer(
    "port to listen on, 0 for any free one. If the default is in use and no client is set up, Millrace takes a free one and prints it",
    "<port>",
    { min: 0, max: 65_535, initial: defaultPort },
    { env: "MILLRACE_PORT" },
  ),
  store: choice(
    "where answers are stored: a file, a Redis server that gateways share, or memory",
    ["sqlite", "redis", "memory"],
    "sqlite",
    { env: "MILLRACE_STORE" },
  ),
  redisUrl: redisAddress("address for --store redis; put a password into the variable, not here", {
    env: "MILLRACE_REDIS_URL",
  }),
  grace: duration("how long an answer continues after its client disconnects", 120_000, {
    env: "MILLRACE_GRACE",
    range: { min: 0, max: 7 * 86_400_000, words: "0 to 7d" },
  }),
  maxTurns: integer(
    "turns that one IDE answers at the same time; others wait in a queue; 0 is no limit",
    "<number>",
    { min: 0, max: 10_000, initial: undefined },
    { env: "MILLRACE_MAX_TURNS", defaultText: `no limit; ${sharedMost} while a key for others works` },
  ),
  retention: duration("how long a finished answer is kept", defaultRetention.keptMs, {
    env: "MILLRACE_RETENTION",
    range: { min: 60_000, max: 365 * 86_400_000, words: "1m to 365d: a client that was cut off comes back within it" },
  }),
  continuity: choice("reuse the IDE's conversation for follow-up messages", ["on", "off"], "on", {
    env: "MILLRACE_CONTINUITY",
  }),
  ide: ideChoice("use only this IDE", ["devin", "devin-next"], { env: "MILLRACE_IDE_VARIANT" }),
  home: text("use only the IDE whose home folder this is, for example a stand-in", "<folder>", {
    env: "MILLRACE_IDE_ONLY_HOME",
  }),
  pid: integer("use only the language server with this process id", "<pid>", {
    min: 1,
    max: 4_294_967_295,
    initial: undefined,
  }),
  endpoint: text("use this language server and search for no other", "<host:port>", {
    env: "MILLRACE_IDE_ENDPOINT",
  }),
  tokenFile: text("file with the CSRF token of that server; its API key may follow on a second line", "<file>", {
    env: "MILLRACE_IDE_TOKEN_FILE",
  }),
  backend: choice(
    "the way to the models: the IDE's agent program, Cascade, or raw chat; auto picks what the build supports",
    backendModes,
    "auto",
    { env: "MILLRACE_BACKEND" },
  ),
  tools: choice(
    "how a client's tools reach an agent: as tools of its own, or as instructions to write calls; auto is native where this version of the agent takes them",
    toolWays,
    "auto",
    { env: "MILLRACE_TOOLS" },
  ),
  ideTools: choice(
    "when the IDE's agent looks something up with its own tools: let it, or end the turn with an error",
    ["read", "stop"],
    "read",
    { env: "MILLRACE_IDE_TOOLS" },
  ),
  acpCommand: commandLine("start this program in place of the installed agent", "<command>", {
    env: "MILLRACE_ACP_COMMAND",
  }),
  accept: flag(
    "agree once, in place of `millrace init --accept`, that prompts go to the IDE and use the plan of its account",
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
export const ownGatewayOptions = ofServe(unlistened);

const { ide, home, pid, endpoint, tokenFile } = ownGatewayOptions;
/** The options that say which IDE is meant, for a command that runs no gateway. */
export const ideOptions = { ide, home, pid, endpoint, tokenFile };

/** The parsed options of a gateway command. */
export type GatewayCommandOptions = OptionValues<typeof unlistened>;

/** The options of a gateway as the environment sets them, for a gateway without a command line. Throws `invalid_request`. */
export function environmentOptions(env: Io["env"]): GatewayCommandOptions {
  const values = Object.entries(unlistened).map(([name, { env: variable = "", initial, parse }]): [string, unknown] => {
    const raw = env[variable];
    return [name, raw ? parse(raw) : initial];
  });
  return Object.fromEntries(values) as unknown as GatewayCommandOptions; // the same keys, each by its own parser
}

/** Options that say which IDE to use. */
export type IdeOptions = Partial<Pick<GatewayCommandOptions, "endpoint" | "tokenFile" | "home" | "pid">> & {
  readonly ide?: string | undefined;
};

/** The user's choice of IDE, from the options of a command and the environment; options win. Throws `invalid_request`. */
export function overridesOf(io: Pick<Io, "env">, options: IdeOptions): IdeOverrides {
  const overrides = parseOverrides({
    ...io.env,
    MILLRACE_IDE_VARIANT: options.ide,
    MILLRACE_IDE_ENDPOINT: options.endpoint,
    MILLRACE_IDE_TOKEN_FILE: options.tokenFile,
    ...(options.home === undefined ? {} : { MILLRACE_IDE_ONLY_HOME: options.home }),
  });
  return { ...overrides, pid: options.pid };
}

/**
 * Refuses what only all options together show, before a gateway is started, restarted, or a setting of it is written.
 *
 * @throws MillraceError `invalid_request` that names the option.
 */
export function checkGatewayOptions(
  io: Pick<Io, "env" | "platform">,
  options: IdeOptions & { readonly socket?: string | undefined },
): void {
  overridesOf(io, options);
  const { socket } = options;
  if (socket === undefined) return;
  if (io.platform === "win32")
    throw new MillraceError("invalid_request", "--socket works on Linux and macOS only.", {
      hint: "Leave it out: Millrace then listens on 127.0.0.1.",
    });
  if (socket === "" || Buffer.byteLength(socket) > longestSocket)
    throw new MillraceError("invalid_request", `The path of --socket must have 1 to ${longestSocket} bytes.`, {
      hint: "Give a shorter path, such as ~/.millrace/socket.",
    });
}
