import type { IdeVariant } from "../language-server/transport/endpoint.ts";

/** How a plan counts. Decided by the content of the answer, never by configuration. */
export type PlanShape = "credits" | "quota" | "fractions" | "pools" | "unknown";

/** The unit of a window's numbers. `percent` runs from 0 to 100; `credits` are whole ones, not hundredths. */
export const limitUnits = ["credits", "percent", "usd", "messages"] as const;
export type LimitUnit = (typeof limitUnits)[number];

/** The source of a reading: the running IDE's language server, or the plan that the app saved at its last start. */
export type PlanSource = "language_server" | "saved_plan";

/**
 * One limit of a plan, from one reading. Absent, zero and unknown are three values: `undefined` means that the answer did not contain
 * it; nothing is ever filled in from an earlier reading.
 */
export interface LimitWindow {
  /** Stable across readings and releases: `prompt-credits`, `weekly`, `gemini-5h`, `model:claude-opus-4-5`. */
  readonly id: string;
  readonly label: string;
  /** `consumption` is used up towards a limit, `balance` is money that is left (or owed, when negative). */
  readonly kind: "consumption" | "balance";
  readonly unit: LimitUnit;
  /** `unlimited`: the plan has no limit here. `unknown`: the answer did not say; every number is undefined then. */
  readonly state: "metered" | "unlimited" | "unknown";
  /** Whether this is a limit of the whole plan, of a pool of models, or of one model inside a pool. */
  readonly scope: "plan" | "pool" | "model";
  readonly used: number | undefined;
  readonly limit: number | undefined;
  /** Never below 0, also when more was used than the limit allows. For a balance: the amount left, negative when owed. */
  readonly remaining: number | undefined;
  /** Share of the limit that is used, 0..1. */
  readonly utilization: number | undefined;
  /** Epoch ms. */
  readonly resetsAtMs: number | undefined;
  /** Length of the window, seconds; undefined if neither the answer nor the kind of window defines it. */
  readonly windowSeconds: number | undefined;
}

/** One reading of one IDE's plan. */
export interface LimitsSnapshot {
  readonly ide: IdeVariant;
  /** The build of the IDE that answered; empty if it does not say. */
  readonly build: string;
  /** Read from a stand-in IDE: no plan of the user, and never in the history. */
  readonly standIn?: true;
  /** Epoch ms of the reading; of a saved plan, when the app wrote it. */
  readonly readAtMs: number;
  readonly source: PlanSource;
  readonly shape: PlanShape;
  /** `Pro`, `Teams`; undefined if the answer does not name it. */
  readonly planName: string | undefined;
  readonly windows: readonly LimitWindow[];
}

/** Where and when an answer was read. */
export interface ReadingSource {
  readonly ide: IdeVariant;
  readonly build: string;
  readonly readAtMs: number;
  readonly source: PlanSource;
}

/** The measures of a window of which nothing is known. */
export const unmeasured = {
  state: "unknown",
  used: undefined,
  limit: undefined,
  remaining: undefined,
  utilization: undefined,
} as const;

/** A window in percent of its limit from the share that is left, 0..1 (values outside are cut); unknown without one. */
export function percentWindow(
  about: Pick<LimitWindow, "id" | "label" | "scope" | "resetsAtMs" | "windowSeconds">,
  remainingFraction: number | undefined,
): LimitWindow {
  const base = { ...about, kind: "consumption", unit: "percent" } as const;
  if (remainingFraction === undefined || Number.isNaN(remainingFraction)) {
    return { ...base, ...unmeasured };
  }
  const left = Math.min(1, Math.max(0, remainingFraction));
  return {
    ...base,
    state: "metered",
    used: tidy((1 - left) * 100),
    limit: 100,
    remaining: tidy(left * 100),
    utilization: tidy(1 - left),
  };
}

/** The daily or the weekly quota, from the percent of it that is left; unknown without one. */
export function quotaWindow(
  id: "daily" | "weekly",
  percent: number | undefined,
  resetsAtMs: number | undefined,
): LimitWindow {
  const [label, days] = id === "daily" ? ["Daily quota", 1] : ["Weekly quota", 7];
  const about = { id, label, scope: "plan", resetsAtMs, windowSeconds: days * 86_400 } as const;
  return percentWindow(about, percent === undefined ? undefined : percent / 100);
}

/** Money that is left, or owed when negative. */
export function usdBalance(id: string, label: string, remaining: number): LimitWindow {
  return {
    id,
    label,
    kind: "balance",
    unit: "usd",
    state: "metered",
    scope: "plan",
    used: undefined,
    limit: undefined,
    remaining,
    utilization: undefined,
    resetsAtMs: undefined,
    windowSeconds: undefined,
  };
}

/** Without the noise that binary fractions leave: 1 - 0.8 is 0.2, not 0.19999999999999996. */
export function tidy(value: number): number {
  return Math.round(value * 1e9) / 1e9;
}

/** Whole percent that are left of a share used (0..1), cut down: 0.4 % left is not 1 %, and 99.6 % is not all. */
export function percentLeft(utilization: number): number {
  return Math.max(0, Math.floor((1 - utilization) * 100 + 1e-6));
}

/** Whether two reset times (epoch ms) are the same one, read twice: rolling windows move theirs a little each time. */
export function sameReset(a: number | undefined, b: number | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Math.abs(a - b) <= 600_000;
}
