import { type ErrorCode, MillraceError } from "../../base/errors.ts";

/** The exit codes of every command: the sysexits ones, and 130 for Ctrl-C. Shown by `millrace --help`. */
export const exitCodes = {
  ok: 0,
  negative: 1,
  usage: 64,
  unavailable: 69,
  internal: 70,
  cannotCreate: 73,
  tryAgain: 75,
  notAllowed: 77,
  interrupted: 130,
} as const;

/** The meaning of each code, for the help text. */
export const exitCodeMeanings: readonly (readonly [number, string])[] = [
  [exitCodes.ok, "done"],
  [
    exitCodes.negative,
    "no (usage --min-remaining), nothing to show or do, something stays (uninstall), or warnings (doctor)",
  ],
  [exitCodes.usage, "the command line or its input is wrong"],
  [exitCodes.unavailable, "no IDE, no gateway, or no answer from it"],
  [exitCodes.internal, "a bug in Millrace"],
  [exitCodes.cannotCreate, "a file or port cannot be used"],
  [exitCodes.tryAgain, "a limit was reached; try again later"],
  [exitCodes.notAllowed, "no account is signed in, or the user, key, plan or account does not allow it"],
  [exitCodes.interrupted, "interrupted"],
];

/** The codes of a gateway that would end the same way again, with its command line, its settings or its port: no service manager starts it again. */
export const finalCodes: readonly number[] = [exitCodes.usage, exitCodes.cannotCreate];

const nothings = new WeakSet<object>();

/** The error of a command whose line is right, and which finds nothing to work on. */
export function nothingHere(message: string, hint: string): MillraceError {
  const error = new MillraceError("invalid_request", message, { hint });
  nothings.add(error);
  return error;
}

/** Which exit code an error ends a command with. */
export function exitCodeFor(error: Pick<MillraceError, "code" | "param">): number {
  const { code, param } = error;
  if (code !== "invalid_request") return exitCodeOf[code];
  return param === "port" ? exitCodes.cannotCreate : nothings.has(error) ? exitCodes.negative : exitCodes.usage;
}

const exitCodeOf: Readonly<Record<ErrorCode, number>> = {
  ide_not_running: exitCodes.unavailable,
  not_signed_in: exitCodes.notAllowed,
  consent_needed: exitCodes.notAllowed,
  unauthenticated: exitCodes.notAllowed,
  unknown_model: exitCodes.usage,
  model_not_allowed: exitCodes.notAllowed,
  quota_exhausted: exitCodes.tryAgain,
  rate_limited: exitCodes.tryAgain,
  context_too_long: exitCodes.usage,
  invalid_request: exitCodes.usage,
  idempotency_conflict: exitCodes.usage,
  backend_retired: exitCodes.unavailable,
  upstream_failed: exitCodes.unavailable,
  upstream_timeout: exitCodes.unavailable,
  cancelled: exitCodes.interrupted,
  unavailable: exitCodes.tryAgain,
  expired: exitCodes.unavailable,
  degraded: exitCodes.cannotCreate,
  internal: exitCodes.internal,
};
