import type { PaceEnvelope } from "./envelope.ts";
import type { Pace } from "./pace.ts";

/** The fields of a pace that its description needs. */
export type SpokenPace = Pick<
  Pace,
  "verdict" | "elapsedFraction" | "usedFraction" | "projectedFraction" | "runsOutAtMs" | "why"
>;

/** Reads a pace from the JSON of `GET /v1/limits`, for `paceInWords`. */
export function paceFromJson(pace: PaceEnvelope): SpokenPace {
  return {
    verdict: pace.verdict,
    elapsedFraction: pace.elapsed ?? undefined,
    usedFraction: pace.used ?? undefined,
    projectedFraction: pace.projected ?? undefined,
    runsOutAtMs: pace.runs_out_at === null ? undefined : Date.parse(pace.runs_out_at),
    why: pace.reason ?? undefined,
  };
}

/** How instants are written for the reader: `22 Nov 14:20`, in the reader's own time zone. */
export type FormatInstant = (atMs: number) => string;

const reasons = {
  unknown: "not told by the IDE",
  no_reset: "no reset",
  window_over: "the window has reset since; a new reading follows",
  just_started: "too early to say",
  no_history: "too early to say",
} as const satisfies Record<NonNullable<Pace["why"]>, string>;

/** A pace in plain words: `58 % in reserve`, `lasts until 22 Nov 14:20`. */
export function paceInWords(pace: SpokenPace, formatInstant: FormatInstant): string {
  switch (pace.verdict) {
    case "ahead":
      return moreLeft(pace) ?? `${percentLeft(pace)} will be left at the reset`;
    case "tight":
      return `tight: ${percentLeft(pace)} will be left at the reset`;
    case "runs_out":
      return `lasts until ${formatInstant(pace.runsOutAtMs ?? 0)}`;
    case "exhausted":
      return "exhausted";
    case "too_early":
      return pace.why === undefined ? "too early to say" : reasons[pace.why];
    default:
      return pace.verdict satisfies never;
  }
}

/** Undefined where the window's start is not known. */
function moreLeft({
  elapsedFraction,
  usedFraction,
}: Pick<Pace, "elapsedFraction" | "usedFraction">): string | undefined {
  if (elapsedFraction === undefined || usedFraction === undefined) return undefined;
  return `${Math.round((elapsedFraction - usedFraction) * 100)} % in reserve`;
}

function percentLeft(pace: Pick<Pace, "projectedFraction">): string {
  return `${Math.round(Math.max(0, 1 - (pace.projectedFraction ?? 0)) * 100)} %`;
}

/** A time to go: `4 d 3 h`, `2 h 5 min`, `8 min`, `now`. Whole units, cut down, the two largest. */
export function durationInWords(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "now";
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60)];
  if (days > 0) return hours > 0 ? `${days} d ${hours} h` : `${days} d`;
  if (hours > 0) return minutes % 60 > 0 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${minutes} min`;
}
