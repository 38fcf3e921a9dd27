import { type DestinationStream, pino } from "pino";
import type { GatewayLog } from "../../gateway/http/log.ts";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Takes whole lines. */
export interface LineTarget {
  write(line: string): unknown;
}

/** JSON lines on stderr: level, time, event name and plain fields. Callers pass no prompt, answer or secret. */
export function openLogLines(io: { readonly stderr: LineTarget }, level: LogLevel): GatewayLog {
  const destination: DestinationStream = { write: (line) => void io.stderr.write(line) };
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      messageKey: "event",
    },
    destination,
  );
  return { write: (lineLevel, event, fields) => logger[lineLevel](fields, event) };
}
