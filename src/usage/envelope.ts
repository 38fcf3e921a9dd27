import { z } from "zod";
import { ideName, ideNames } from "../base/ide-name.ts";
import { productName } from "../language-server/product-name.ts";
import type { Elsewhere } from "./elsewhere.ts";
import { spendDimensions, spendSchema } from "./history/history.ts";
import type { OutsideUse } from "./history/outside.ts";
import type { Limits, LimitsReading, ReadingError } from "./known-limits.ts";
import { type LimitWindow, limitUnits } from "./limits.ts";
import type { Pace } from "./pace.ts";
import type { UsageReport } from "./usage-report.ts";

/*
 * The JSON of `GET /v1/limits` and `GET /v1/usage`, and of `millrace usage --json`: names in snake_case, instants as ISO strings, numbers with their unit beside them or in their name, null for unknown values.
 */

const instant = z.iso.datetime();
const maybeNumber = z.number().nullable();

const planSource = z.enum(["language_server", "saved_plan"]).default("language_server");

const paceSchema = z.object({
  verdict: z.enum(["ahead", "tight", "runs_out", "exhausted", "too_early"]),
  elapsed: maybeNumber,
  used: maybeNumber,
  projected: maybeNumber,
  runs_out_at: instant.nullable(),
  reason: z.enum(["unknown", "no_reset", "window_over", "just_started", "no_history"]).nullable(),
});

const windowSchema = z.object({
  id: z.string(),
  label: z.string(),
  kind: z.enum(["consumption", "balance"]),
  unit: z.enum(limitUnits),
  state: z.enum(["metered", "unlimited", "unknown"]),
  scope: z.enum(["plan", "pool", "model"]),
  used: maybeNumber,
  limit: maybeNumber,
  remaining: maybeNumber,
  utilization: maybeNumber,
  resets_at: instant.nullable(),
  window_seconds: maybeNumber,
  pace: paceSchema.nullable(),
});

const limitsOfIdeSchema = z.object({
  object: z.literal("limits"),
  ide: z.enum(ideNames),
  /** The product's name for people; "" from a gateway of an older version. */
  product: z.string().default(""),
  /** Whether a stand-in IDE answered: then this is no plan of the user. */
  stand_in: z.boolean().default(false),
  build: z.string(),
  /** The source of the reading: the running IDE, or the plan that its app saved, read at `fetched_at`. */
  source: planSource,
  shape: z.enum(["credits", "quota", "fractions", "pools", "unknown"]),
  plan_name: z.string().nullable(),
  fetched_at: instant,
  expires_at: instant,
  stale: z.boolean(),
  windows: z.array(windowSchema),
});

const errorSchema = z.object({
  ide: z.string().nullable(),
  code: z.string(),
  message: z.string(),
  hint: z.string(),
  at: instant,
});

export const limitsSchema = z.object({
  object: z.literal("list"),
  now: instant,
  data: z.array(limitsOfIdeSchema),
  errors: z.array(errorSchema),
});

/** `name`: the key's name for people. */
export const namedSpendSchema = z.object({
  ...spendSchema.pick({ key: true }).shape,
  name: z.string().nullable(),
  ...spendSchema.shape,
});

const outsideSchema = z.object({
  ide: z.string(),
  window: z.string(),
  unit: z.enum(limitUnits),
  from: instant,
  to: instant,
  lost: z.number(),
  explained: maybeNumber,
  used_outside: maybeNumber,
  bound: z.enum(["exact", "at_most", "at_least", "unknown"]),
  /** Whose readings it rests on; saved plans are too old for it. */
  source: planSource,
});

/** What Devin's CLI and editor used without Millrace, by their own records. */
const elsewhereSchema = z.object({
  data: z.array(
    z.object({
      key: z.string().nullable(),
      name: z.string().nullable(),
      calls: z.number(),
      input_tokens: z.number(),
      cache_read_tokens: z.number(),
      cache_creation_tokens: z.number(),
      output_tokens: z.number(),
    }),
  ),
  /** Why the records could not be read. */
  problem: z.string().nullable(),
});

export const usageSchema = z.object({
  object: z.literal("usage"),
  since: instant,
  until: instant,
  by: z.enum(spendDimensions),
  time_zone: z.string(),
  data: z.array(namedSpendSchema),
  used_outside: z.array(outsideSchema),
  /** Null where there are no such records, or they cannot be summed by that. */
  elsewhere: elsewhereSchema.nullable().default(null),
});

export type LimitsEnvelope = z.infer<typeof limitsSchema>;
export type LimitsOfIde = z.infer<typeof limitsOfIdeSchema>;
export type LimitsWindowEnvelope = z.infer<typeof windowSchema>;
export type PaceEnvelope = z.infer<typeof paceSchema>;
export type UsageEnvelope = z.infer<typeof usageSchema>;
export type ElsewhereEnvelope = z.infer<typeof elsewhereSchema>;
export type SpendEnvelope = z.infer<typeof namedSpendSchema>;

export function encodeLimits({ nowMs, readings, errors }: Limits): LimitsEnvelope {
  return { object: "list", now: iso(nowMs), data: readings.map(encodeReading), errors: errors.map(encodeError) };
}

/** Gives the name of a model by its UID. */
type NameOf = (uid: string) => string;

/** `name` is the displayed form of a row's key: the name that a model had when it was used, else the key. */
export function encodeUsage({ query, rows, outside, elsewhere, names }: UsageReport, nameOf: NameOf): UsageEnvelope {
  const named = query.by === "model" ? (uid: string) => names.get(uid) ?? nameOf(uid) : (key: string) => key;
  return {
    object: "usage",
    since: iso(query.sinceMs),
    until: iso(query.untilMs),
    by: query.by,
    time_zone: query.timeZone,
    data: rows.map((spend) => withName(spend, named)),
    used_outside: outside.map(encodeOutside),
    elsewhere: elsewhere === undefined ? null : encodeElsewhere(elsewhere, named),
  };
}

function encodeElsewhere(elsewhere: Elsewhere, named: NameOf): ElsewhereEnvelope {
  if ("problem" in elsewhere) return { data: [], problem: elsewhere.problem };
  return { data: elsewhere.rows.map((row) => withName(row, named)), problem: null };
}

function encodeReading({ snapshot, paces, expiresAtMs, stale }: LimitsReading): LimitsOfIde {
  return {
    object: "limits",
    ide: ideName(snapshot.ide),
    product: `${productName(snapshot.ide, snapshot.build)}${snapshot.standIn === true ? ", a stand-in" : ""}`,
    stand_in: snapshot.standIn === true,
    build: snapshot.build,
    source: snapshot.source,
    shape: snapshot.shape,
    plan_name: snapshot.planName ?? null,
    fetched_at: iso(snapshot.readAtMs),
    expires_at: iso(expiresAtMs),
    stale,
    windows: snapshot.windows.map((window) =>
      encodeWindow(
        window,
        paces.find((pace) => pace.windowId === window.id),
      ),
    ),
  };
}

function encodeWindow(window: LimitWindow, pace: Pace | undefined): LimitsWindowEnvelope {
  const { id, label, kind, unit, state, scope } = window;
  return {
    id,
    label,
    kind,
    unit,
    state,
    scope,
    used: window.used ?? null,
    limit: window.limit ?? null,
    remaining: window.remaining ?? null,
    utilization: window.utilization ?? null,
    resets_at: maybeIso(window.resetsAtMs),
    window_seconds: window.windowSeconds ?? null,
    pace: pace === undefined ? null : encodePace(pace),
  };
}

function encodePace(pace: Pace): PaceEnvelope {
  return {
    verdict: pace.verdict,
    elapsed: pace.elapsedFraction ?? null,
    used: pace.usedFraction ?? null,
    projected: pace.projectedFraction ?? null,
    runs_out_at: maybeIso(pace.runsOutAtMs),
    reason: pace.why ?? null,
  };
}

function encodeError({ ide, error, atMs }: ReadingError): LimitsEnvelope["errors"][number] {
  return {
    ide: ide === undefined ? null : ideName(ide),
    code: error.code,
    message: error.message,
    hint: error.hint,
    at: iso(atMs),
  };
}

/** A row with its key's name for people. */
export function withName<T extends { readonly key: string | null }>({ key, ...sums }: T, nameOf: NameOf) {
  return { key, name: key === null ? null : nameOf(key), ...sums };
}

function encodeOutside(use: OutsideUse): UsageEnvelope["used_outside"][number] {
  return {
    ide: ideName(use.ide),
    window: use.windowId,
    unit: use.unit,
    from: iso(use.fromMs),
    to: iso(use.toMs),
    lost: use.lost,
    explained: use.explained ?? null,
    used_outside: use.outside ?? null,
    bound: use.bound,
    source: "language_server",
  };
}

export function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}

function maybeIso(atMs: number | undefined): string | null {
  return atMs === undefined ? null : iso(atMs);
}
