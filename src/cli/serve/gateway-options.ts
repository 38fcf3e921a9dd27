import { backendModes } from "../../backends/choose-backend.ts";
import type { AskingOptions } from "../compose/compose-upstream.ts";
import type { RedisAddress } from "../compose/redis-address.ts";
import { type LogLevel, logLevels } from "../gateway-process/log-lines.ts";
import { sharedMost } from "../keys/turn-limit.ts";
import { choice, commandLine, duration, explainedBy, flag, ideChoice, integer, text } from "../options.ts";
import { storeOptions } from "../store-options.ts";

export const defaultPort = 42_100;

/** How long an idle trajectory is kept for the next turn of its conversation. */
export const continuityIdleMs = 600_000;

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
    "how many turns may run at the same time in one IDE; the others wait in a queue, first come, first served; 0 is no limit",
    "<number>",
    { min: 0, max: 10_000, initial: undefined },
    { env: "MILLRACE_MAX_TURNS", defaultText: `no limit; ${sharedMost} while a key for others works` },
  ),
  retention: duration("how long a finished answer is kept; the time starts again when someone reads it", 7_200_000, {
    env: "MILLRACE_RETENTION",
    defaultText: "2h",
  }),
  continuity: choice("reuse the IDE's conversation for follow-up messages", ["on", "off"], "on", {
    env: "MILLRACE_CONTINUITY",
  }),
  ide: ideChoice("use only this IDE", ["devin", "devin-next"], { env: "MILLRACE_IDE_VARIANT" }),
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
export const ownGatewayOptions = explainedBy("serve", unlistened);

/** The parsed options of a gateway command. */
export interface GatewayCommandOptions extends AskingOptions {
  readonly store: "sqlite" | "redis" | "memory";
  readonly redisUrl: RedisAddress;
  readonly grace: number;
  readonly maxTurns?: number | undefined;
  readonly retention: number;
  readonly continuity: "on" | "off";
  readonly ide: "windsurf" | "windsurf-next" | undefined;
  readonly home?: string | undefined;
  readonly pid?: number | undefined;
  readonly endpoint: string | undefined;
  readonly tokenFile: string | undefined;
  readonly accept?: boolean | undefined;
  readonly logLevel: LogLevel | undefined;
}
