import { defaultQuotas, type StreamQuotas } from "../../gateway/idempotent/stream/quotas.ts";
import type { Io } from "../terminal/io.ts";
import { wholeNumber } from "./whole-number.ts";

const megabyte = 1024 * 1024;

/**
 * The quotas of one key for the stream protocol: the defaults, or the values of the variables. `retainedMs`: how long the log keeps a
 * message.
 *
 * @throws MillraceError `invalid_request`.
 */
export function streamQuotasOf(env: Io["env"], retainedMs: number): StreamQuotas {
  const numberOf = (name: string, initial: number) => wholeNumber(env, name, initial);
  return {
    ...defaultQuotas,
    retainedMs,
    openStreams: numberOf("MILLRACE_STREAMS_OPEN", defaultQuotas.openStreams),
    attachesPerMinute: numberOf("MILLRACE_STREAMS_ATTACHES", defaultQuotas.attachesPerMinute),
    retainedBytes: numberOf("MILLRACE_STREAMS_MB", defaultQuotas.retainedBytes / megabyte) * megabyte,
  };
}
