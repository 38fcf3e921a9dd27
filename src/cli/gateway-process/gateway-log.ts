import { join } from "node:path";
import type { GatewayLog } from "../../gateway/http/log.ts";
import type { Settings } from "../compose/settings.ts";
import { visible } from "../terminal/foreign-text.ts";
import type { Io } from "../terminal/io.ts";
import { startedBy } from "./background.ts";
import { type LogLevel, logLevels, openLogLines } from "./log-lines.ts";
import { openPeopleLines } from "./people-lines.ts";
import { openRotatedFile } from "./rotated-file.ts";

export const logFormats = ["people", "json"] as const;

export interface LogWishes {
  readonly logLevel?: LogLevel | undefined;
  readonly logFormat?: (typeof logFormats)[number] | undefined;
  readonly logFile?: string | undefined;
}

/** Where a gateway without a terminal writes its log. */
export function defaultLogFile({ folder }: Pick<Settings, "folder">): string {
  return join(folder, "logs", "gateway.log");
}

/** A log whose level can change. */
export interface LevelledLog extends GatewayLog {
  /** Undefined: the gateway's default level. */
  setLevel(level: LogLevel | undefined): void;
}

/**
 * The log of `serve`: lines for people on a terminal, JSON elsewhere. It goes into a rotated file if one is named, and if the gateway
 * runs in the background or as a service. The level is `info`, but `warn` for JSON on stderr. Throws the file system's errors.
 */
export function openGatewayLog(
  io: Pick<Io, "stderr" | "env" | "clock">,
  settings: Pick<Settings, "folder">,
  { logLevel, logFormat, logFile }: LogWishes,
): LevelledLog {
  const file = logFile ?? (startedBy(io.env) === "terminal" ? undefined : defaultLogFile(settings));
  const screen = { write: (line: string) => io.stderr.write(visible(line)) };
  const target = file === undefined ? screen : openRotatedFile(file);
  const isForPeople = (logFormat ?? (file === undefined && io.stderr.isTTY === true ? "people" : "json")) === "people";
  const usual = isForPeople || file !== undefined ? "info" : "warn";
  const lines = isForPeople ? openPeopleLines(target, io.clock, "debug") : openLogLines({ stderr: target }, "debug");
  const rankOf = (level: LogLevel) => logLevels.indexOf(level);
  let least = rankOf(logLevel ?? usual);
  const log = withRequestIds({
    write(level, event, fields) {
      if (rankOf(level) >= least) lines.write(level, event, fields);
    },
  });
  return {
    ...log,
    setLevel: (level) => void (least = rankOf(level ?? usual)),
  };
}

const mostTurns = 10_000;

/** Adds the id of the request that began a turn to the lines that name only the turn. */
export function withRequestIds(log: GatewayLog): GatewayLog {
  const requests = new Map<string, unknown>();
  return {
    write(level, event, fields) {
      const { turnId, requestId } = fields;
      if (typeof turnId !== "string") return log.write(level, event, fields);
      if (requestId === undefined) return log.write(level, event, { requestId: requests.get(turnId), ...fields });
      if (!requests.has(turnId)) requests.set(turnId, requestId);
      if (requests.size > mostTurns) requests.delete(requests.keys().next().value ?? "");
      log.write(level, event, fields);
    },
  };
}
