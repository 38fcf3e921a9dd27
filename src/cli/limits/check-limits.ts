import { MillraceError } from "../../base/errors.ts";
import type { LimitsEnvelope, LimitsWindowEnvelope } from "../../usage/envelope.ts";
import { durationInWords } from "../../usage/pace-words.ts";
import { exitCodes } from "../terminal/exit-codes.ts";

interface LimitVerdict {
  readonly ide: string;
  readonly window: string;
  readonly remaining_percent: number | null;
  readonly enough: boolean | null;
  readonly age_seconds: number;
  /** The reading is older than `--max-age`. */
  readonly too_old: boolean;
}

/** How much has to be left of which limits, for `millrace usage --min-remaining`. */
export interface Floor {
  /** Percent. */
  readonly minRemaining: number;
  /** The oldest reading that counts, ms; without it, the reading's own time to expire. */
  readonly maxAge: number | undefined;
  readonly ide: string | undefined;
  /** One limit by its id. */
  readonly window: string | undefined;
}

/** The exit code for a script: 0 enough, 1 not, 75 too old a reading, 69 not known. */
export function exitCodeOf(checked: readonly LimitVerdict[]): number {
  if (checked.some(({ enough }) => enough === false)) return exitCodes.negative;
  if (checked.some((entry) => entry.too_old)) return exitCodes.tryAgain;
  return checked.some(({ enough }) => enough === null) ? exitCodes.unavailable : exitCodes.ok;
}

/** Whether enough is left of each limit. Throws `invalid_request` for an unknown IDE or limit, `ide_not_running` without a reading. */
export function checkLimits(limits: LimitsEnvelope, asked: Floor): readonly LimitVerdict[] {
  const read = limits.data.filter((of) => asked.ide === undefined || of.ide === asked.ide);
  if (read.length === 0) {
    const [error] = limits.errors;
    throw new MillraceError("ide_not_running", error?.message ?? "No IDE answered.", {
      hint: "Start it, then try again.",
    });
  }
  const windows = read.flatMap((of) => of.windows.map((window) => ({ of, window })));
  const chosen = windows.filter(({ window }) =>
    asked.window === undefined ? window.kind === "consumption" && window.scope !== "model" : window.id === asked.window,
  );
  if (asked.window !== undefined && chosen.length === 0 && windows.length > 0)
    throw unknown("limit", asked.window, [...new Set(windows.map(({ window }) => window.id))]);
  if (chosen.length === 0)
    throw new MillraceError("ide_not_running", "The IDE did not report the limits of the plan.", {
      hint: "Try again later.",
    });
  return chosen.map(({ of, window }) => {
    const nowMs = Date.parse(limits.now);
    // A minute-old reading still counts here, also if a turn ended since; an expired reading does not.
    const ageMs = nowMs - Date.parse(of.fetched_at);
    const tooOld = asked.maxAge !== undefined && ageMs > asked.maxAge;
    const isExpired = asked.maxAge === undefined ? Date.parse(of.expires_at) < nowMs : tooOld;
    const left = isExpired ? undefined : remainingPercent(window, nowMs);
    return {
      ide: of.ide,
      window: window.id,
      remaining_percent: left === undefined || left === Infinity ? null : left,
      enough: left === undefined ? null : left >= asked.minRemaining,
      age_seconds: Math.round(ageMs / 1000),
      too_old: tooOld,
    };
  });
}

/** Undefined when it is not known; infinite for a window without a limit. */
function remainingPercent(window: LimitsWindowEnvelope, nowMs: number): number | undefined {
  if (window.state === "unlimited") return Infinity;
  if (window.resets_at !== null && Date.parse(window.resets_at) <= nowMs) return undefined;
  if (window.utilization !== null) return Math.round((1 - window.utilization) * 1e6) / 1e4;
  return undefined;
}

/** One checked limit in words. */
export function spellChecked(
  { ide, window, remaining_percent: left, enough, ...read }: LimitVerdict,
  { minRemaining }: Floor,
): string {
  const name = `${ide} ${window}`;
  const age = read.age_seconds < 60 ? `${read.age_seconds} s` : durationInWords(read.age_seconds * 1000);
  if (read.too_old) return `${name}: read ${age} ago, longer than --max-age allows.`;
  if (enough === null) return `${name}: not known.`;
  if (left === null) return `${name}: unlimited.`;
  return `${name}: ${Math.floor(left * 10) / 10} % left, ${enough ? "enough" : `less than ${minRemaining} %`}.`;
}

function unknown(what: string, given: string, known: readonly string[]): MillraceError {
  return new MillraceError("invalid_request", `There is no ${what} ${JSON.stringify(given)}.`, {
    hint: `There are: ${known.join(", ")}.`,
  });
}
