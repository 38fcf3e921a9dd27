import { MillraceError } from "../../base/errors.ts";
import { defaultQuotas, type StreamQuotas } from "../../gateway/idempotent/stream/quotas.ts";
import type { Io } from "../terminal/io.ts";

const megabyte = 1024 * 1024;

/**
 * What one key may have of the stream protocol: the defaults, or what the variables say. `retainedMs`: how long the log keeps a
 * message. @throws MillraceError `invalid_request`.
 */
export function streamQuotasOf(env: Io["env"], retainedMs: number): StreamQuotas {
  const numberOf = (name: string, initial: number) => {
    const text = env[name];
    if (text === undefined || text === "") return initial;
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= 1) return value;
    throw new MillraceError("invalid_request", `${name} is ${JSON.stringify(text)}, not a whole number from 1.`, {
      hint: `Leave it out for ${initial}.`,
    });
  };
  return {
    ...defaultQuotas,
    retainedMs,
    openStreams: numberOf("MILLRACE_STREAMS_OPEN", defaultQuotas.openStreams),
    attachesPerMinute: numberOf("MILLRACE_STREAMS_ATTACHES", defaultQuotas.attachesPerMinute),
    retainedBytes: numberOf("MILLRACE_STREAMS_MB", defaultQuotas.retainedBytes / megabyte) * megabyte,
  };
}
