import type { LimitsWindowEnvelope, PaceEnvelope } from "./envelope.ts";

/** The members of a window in the JSON of `GET /v1/limits` that say how it stands. */
type Window = Pick<LimitsWindowEnvelope, "kind" | "unit" | "state" | "used" | "limit" | "remaining" | "utilization"> & {
  readonly pace: Pick<PaceEnvelope, "verdict"> | null;
};

/** The share of a limit (0..1) from which on it runs low. */
export const lowFrom = 0.9;
/** The same for a limit that will not last until its reset: from here on it alarms. */
const alarmFrom = 0.8;

/** How a window looks in every place that shows it: calm, careful, alarming, or plain where nothing can be said. */
export type Tone = "good" | "warn" | "bad" | "plain";

export function toneOf({
  state,
  kind,
  utilization,
  pace,
}: Omit<Window, "unit" | "used" | "limit" | "remaining">): Tone {
  const used = utilization ?? 0;
  if (state !== "metered" || kind === "balance") return "plain";
  if (pace?.verdict === "exhausted" || used >= 1) return "bad";
  if (pace?.verdict === "runs_out") return used >= alarmFrom ? "bad" : "warn";
  return used >= lowFrom || pace?.verdict === "tight" ? "warn" : "good";
}

/** How the reader's place writes numbers, and amounts of US dollars. */
export interface NumberWords {
  readonly count: (value: number) => string;
  readonly dollars: (value: number) => string;
}

/** What is left of a window or used of it, in its own unit: `12.50 USD left`, `40 % used`, `3 of 10 credits used`. */
export function amountInWords(
  { state, kind, unit, used, limit, remaining }: Omit<Window, "utilization" | "pace">,
  { count, dollars }: NumberWords,
): string {
  if (state === "unknown") return "unknown";
  if (kind === "balance") return `${dollars(Math.abs(remaining ?? 0))} ${(remaining ?? 0) < 0 ? "owed" : "left"}`;
  if (state === "unlimited") return `${count(used ?? 0)} ${unit} used, unlimited`;
  if (unit === "percent") return `${count(used ?? 0)} % used`;
  if (limit === null) return `${count(remaining ?? 0)} ${unit} left`;
  return `${count(used ?? 0)} of ${count(limit)} ${unit} used`;
}
