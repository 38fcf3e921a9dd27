import { MillraceError } from "../../base/errors.ts";
import { type ConnectionLimits, defaultConnectionLimits } from "../../gateway/http/connection-limits.ts";
import type { Io } from "../terminal/io.ts";

const variables: Readonly<Record<keyof ConnectionLimits, string>> = {
  firstByteMs: "MILLRACE_FIRST_BYTE_SECONDS",
  headersMs: "MILLRACE_HEADERS_SECONDS",
  requestMs: "MILLRACE_REQUEST_SECONDS",
  idleMs: "MILLRACE_IDLE_SECONDS",
};

/** How long a connection may keep the gateway waiting: the defaults, or the values of the variables. @throws MillraceError `invalid_request`. */
export function connectionLimitsOf(env: Io["env"]): ConnectionLimits {
  const limitOf = (name: keyof ConnectionLimits): number => {
    const text = env[variables[name]];
    if (text === undefined || text === "") return defaultConnectionLimits[name];
    const seconds = Number(text);
    if (Number.isFinite(seconds) && seconds >= 1 && seconds <= 86_400) return seconds * 1000;
    throw new MillraceError(
      "invalid_request",
      `${variables[name]} is ${JSON.stringify(text)}, not a number of seconds from 1 to 86400.`,
      {
        hint: `Leave it out for ${defaultConnectionLimits[name] / 1000}.`,
      },
    );
  };
  return {
    firstByteMs: limitOf("firstByteMs"),
    headersMs: limitOf("headersMs"),
    requestMs: limitOf("requestMs"),
    idleMs: limitOf("idleMs"),
  };
}
