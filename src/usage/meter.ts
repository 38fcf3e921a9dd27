import { deadline, orAborted } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import type { EventSink } from "../base/emitter.ts";
import { MillraceError, toMillraceError } from "../base/errors.ts";
import { ownTurn } from "../base/node/unhurried.ts";
import { type IdeVariant, ideVariants } from "../language-server/transport/endpoint.ts";
import type { Elsewhere } from "./elsewhere.ts";
import type { FinishedTurn } from "./history/finished-turn.ts";
import type { SpendQuery, UsageHistory } from "./history/history.ts";
import type { Limits, ReadingError } from "./known-limits.ts";
import type { UsageLifecycle } from "./lifecycle.ts";
import type { LimitsSnapshot } from "./limits.ts";
import { paceOf } from "./pace.ts";
import { type PlanAnswer, snapshotOfAnswer } from "./plan-answer.ts";
import { type AskReport, reportsOf } from "./reports.ts";

export type { Limits } from "./known-limits.ts";

export interface MeterOptions {
  /** Asks every running IDE for its plan (some 170 KB each), or reads what an app saved. Throws when there is neither. */
  readonly readPlan: (signal: AbortSignal) => Promise<readonly PlanAnswer[]>;
  readonly history: UsageHistory;
  readonly clock: Clock;
  readonly timing?: Partial<MeterTiming>;
  readonly events?: EventSink<UsageLifecycle>;
  /** When a program outside this process last looked at the limits, epoch ms: it counts as asking. */
  readonly askedElsewhereAtMs?: () => number | undefined;
  /** Makes reports of this history; here where unset. */
  readonly ask?: AskReport;
  /** What Devin used without Millrace, by its own records. */
  readonly elsewhere?: Meter["elsewhere"];
}

/** All in ms. */
export interface MeterTiming {
  /** How long a reading is believed, and how often the background reads at most. */
  readonly refreshMs: number;
  /** The background reads only while something asked within this time. */
  readonly askedMs: number;
  /** An impatient asker gets a new reading no sooner than this after the last attempt. */
  readonly shortestGapMs: number;
  readonly readTimeoutMs: number;
}

const defaults: MeterTiming = { refreshMs: 300_000, askedMs: 3_600_000, shortestGapMs: 10_000, readTimeoutMs: 15_000 };
const keptReadingMs = 24 * 3_600_000;
const sweepEveryMs = 6 * 3_600_000;
/** How soon it is noticed that a status line asks, which does so by a file; ms. */
const lookEveryMs = 60_000;

/** Knows the limits of the plans, and the use that turns made of them. */
export interface Meter {
  /**
   * The known limits. `wait: true` reads the plans first if the last reading is stale (it never throws: a failure is in `errors`).
   * `wait: false` answers at once, for values that are shown often. Either keeps the background reading for an hour.
   */
  limits(options: { readonly wait: boolean }, signal: AbortSignal): Promise<Limits>;
  /** Puts ended turns into the history (each once, even if it is reported several times) and marks readings stale. */
  recordTurns(turns: readonly FinishedTurn[]): void;
  /** The reports of turns and readings. */
  readonly ask: AskReport;
  /** What Devin used without Millrace in that time; undefined where nothing tells. Throws as `ask`. */
  elsewhere(query: SpendQuery): Promise<Elsewhere | undefined>;
  /** When these models were used last, epoch ms, by UID. Throws `degraded` for a broken store. */
  lastUses(models: readonly string[]): ReadonlyMap<string, number>;
  readonly history: UsageHistory;
  /** Reads in the background until the signal aborts; never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

export function openMeter(options: MeterOptions): Meter {
  const { readPlan, history, clock, timing, events } = options;
  const { askedElsewhereAtMs = () => undefined, elsewhere = () => Promise.resolve(undefined) } = options;
  const { ask = reportsOf(history) } = options;
  const { refreshMs, askedMs, shortestGapMs, readTimeoutMs } = { ...defaults, ...timing };
  const newest = new Map(history.latestSnapshots(clock.now() - keptReadingMs).map((s) => [s.ide, s]));
  let errors: readonly ReadingError[] = [];
  let historyError: ReadingError | undefined;
  let unanswered: ReadonlySet<IdeVariant> = new Set(newest.keys());
  let turnEndedAtMs = Number.NEGATIVE_INFINITY;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let sweptAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const isStale = (snapshot: LimitsSnapshot, nowMs: number) =>
    nowMs - snapshot.readAtMs >= (snapshot.standIn === true ? standInMs : refreshMs) ||
    turnEndedAtMs >= snapshot.readAtMs ||
    unanswered.has(snapshot.ide);

  /** One reading at a time; requests that come meanwhile wait for the same one. */
  function read(): Promise<void> {
    reading ??= readAll().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function readAll(): Promise<void> {
    triedAtMs = clock.now();
    const failures: ReadingError[] = [];
    const failed = (ide: IdeVariant | undefined, error: unknown) =>
      failures.push({ ide, error: toMillraceError(error).toRecord(), atMs: clock.now() });
    const answered = new Set<IdeVariant>();
    /** A saved plan that cannot be used matters only if nothing else gave the plan. */
    const unusable: (readonly [IdeVariant, unknown])[] = [];
    try {
      for (const answer of await readPlan(deadline(new AbortController().signal, readTimeoutMs))) {
        if (answer.type === "failed") failed(answer.ide, answer.error);
        else if (!answered.has(answer.ide)) {
          try {
            const snapshot = snapshotOfAnswer(answer, clock.now());
            if (snapshot.source === "saved_plan") {
              // A saved plan is as old as the app's start: a newer reading is better, and the history holds only readings.
              if ((newest.get(answer.ide)?.readAtMs ?? 0) > snapshot.readAtMs) continue;
              newest.set(answer.ide, snapshot);
              answered.add(answer.ide);
              continue;
            }
            newest.set(answer.ide, snapshot);
            answered.add(answer.ide);
            if (snapshot.standIn !== true) remember(() => history.addSnapshot(snapshot));
          } catch (error) {
            if (answer.type === "saved") unusable.push([answer.ide, error]);
            else failed(answer.ide, error);
          }
        }
      }
    } catch (error) {
      failed(undefined, error instanceof DOMException ? timedOut(error) : error);
    }
    for (const [ide, error] of unusable) if (!answered.has(ide)) failed(ide, error);
    for (const [ide, { standIn }] of newest) if (standIn === true && !answered.has(ide)) forgetStandIn(ide);
    unanswered = new Set([...newest.keys()].filter((ide) => !answered.has(ide)));
    errors = failures;
    events?.emit("limits_changed", known());
  }

  /** A stand-in that is gone leaves the last reading of the user's own IDE in its place. */
  function forgetStandIn(ide: IdeVariant): void {
    newest.delete(ide);
    remember(() => {
      const own = history.latestSnapshots(clock.now() - keptReadingMs).find((snapshot) => snapshot.ide === ide);
      if (own !== undefined) newest.set(ide, own);
    });
  }

  function known(): Limits {
    const nowMs = clock.now();
    const recent = [...newest.values()].filter((snapshot) => nowMs - snapshot.readAtMs <= keptReadingMs);
    const readings = recent
      .sort((a, b) => ideVariants.indexOf(a.ide) - ideVariants.indexOf(b.ide))
      .map((snapshot) => ({
        snapshot,
        paces: paceOf([...earlier(history, snapshot), snapshot], nowMs),
        expiresAtMs: snapshot.readAtMs + refreshMs,
        stale: isStale(snapshot, nowMs),
      }));
    return { nowMs, readings, errors: [...errors, ...historyProblem(nowMs)] };
  }

  /** Why the history is not written, or only in memory for now. */
  function historyProblem(nowMs: number): readonly ReadingError[] {
    const { degradedBy } = history;
    if (degradedBy !== undefined) return [{ ide: undefined, error: degradedBy.toRecord(), atMs: nowMs }];
    return historyError === undefined ? [] : [historyError];
  }

  /** If the history cannot be used, limits still work, and readers get the error. */
  function remember(use: () => void): void {
    try {
      use();
      historyError = undefined;
    } catch (error) {
      historyError = { ide: undefined, error: toMillraceError(error).toRecord(), atMs: clock.now() };
    }
  }

  /** A few rows in each turn of the event loop: weeks of readings may be due. */
  async function sweep(nowMs: number): Promise<void> {
    for (let isMore = true; isMore; await ownTurn()) {
      isMore = false;
      remember(() => {
        isMore = history.sweep(nowMs);
      });
    }
  }

  return {
    history,
    async limits({ wait }, signal) {
      askedAtMs = clock.now();
      const snapshots = [...newest.values()];
      const stale = snapshots.length === 0 || snapshots.some((snapshot) => isStale(snapshot, askedAtMs));
      const gapMs = wait ? shortestGapMs : refreshMs;
      if (stale && askedAtMs - triedAtMs >= gapMs) void read();
      if (wait && reading !== undefined) await orAborted(reading, signal);
      return known();
    },
    recordTurns(turns) {
      let isNew: readonly boolean[] = turns.map(() => true); // as far as is known, where the history cannot say
      remember(() => {
        isNew = history.addTurns(turns);
      });
      const added = turns.filter((_, i) => isNew[i]);
      if (added.length === 0) return;
      const nowMs = clock.now();
      const tells = [...newest.values()].some((snapshot) => !isStale(snapshot, nowMs));
      turnEndedAtMs = nowMs;
      for (const turn of added) events?.emit("turn_ended", turn);
      if (tells) events?.emit("limits_changed", known());
    },
    ask,
    elsewhere,
    lastUses: (models) => history.lastUses(models),
    async run(signal) {
      while (!signal.aborted) {
        const nowMs = clock.now();
        if (nowMs - sweptAtMs >= sweepEveryMs) {
          sweptAtMs = nowMs;
          await sweep(nowMs);
        }
        const lookedAtMs = Math.max(askedAtMs, askedElsewhereAtMs() ?? Number.NEGATIVE_INFINITY);
        if (nowMs - lookedAtMs <= askedMs && nowMs - triedAtMs >= refreshMs) await read();
        const dueInMs = nowMs - lookedAtMs <= askedMs ? triedAtMs + refreshMs - clock.now() : lookEveryMs;
        await clock.sleep(Math.max(1000, Math.min(refreshMs, dueInMs)), signal).catch(() => undefined); // aborted: the loop ends
      }
    },
  };
}

/** A stand-in comes and goes, and the user's own plan must be back soon after it. */
const standInMs = 5_000;

/** Earlier readings, which a pace needs only if a window has no length. */
function earlier(history: UsageHistory, snapshot: LimitsSnapshot): readonly LimitsSnapshot[] {
  const needed = snapshot.windows.some((w) => w.resetsAtMs !== undefined && w.windowSeconds === undefined);
  if (!needed) return [];
  const { ide, readAtMs } = snapshot;
  try {
    return history.snapshots({ ide, sinceMs: readAtMs - 31 * 86_400_000, untilMs: readAtMs });
  } catch {
    return []; // without a history a pace is "too early to say"; the writer reports the broken store
  }
}

function timedOut(cause: DOMException): MillraceError {
  return new MillraceError("upstream_timeout", "No IDE answered in time.", { cause });
}
