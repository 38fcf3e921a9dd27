import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import { isDegraded, type MillraceError } from "../../base/errors.ts";
import { ownTurn } from "../../base/node/unhurried.ts";
import { Notifier } from "../../base/notifier.ts";
import type { UsageLifecycle } from "../lifecycle.ts";
import type { UsageHistory } from "./history.ts";
import { openHistory } from "./sqlite-history.ts";

/** How often a history that failed is tried again; ms. A row of docs/dev/turn-machine.md. */
const healEveryMs = 5_000;
/** The most entries that are kept in memory; the oldest is dropped first. */
const mostKept = 50_000;
/** How many of them are added before other work has its turn. */
const healedAtOnce = 16;

export interface FallbackHistoryOptions {
  /** Opens the history; called again while it fails. Quick also then: nothing else runs meanwhile. Throws `degraded`. */
  readonly open: () => UsageHistory;
  readonly clock: Clock;
  readonly events?: EventSink<UsageLifecycle>;
}

/** A history that continues when its file cannot be used: new entries wait in memory until it can. */
export interface FallbackHistory extends UsageHistory {
  /** Tries a history that failed again, until the signal aborts; never rejects. */
  heal(signal: AbortSignal): Promise<void>;
}

/**
 * The history that `open` opens, or memory while that fails. Entries added meanwhile are put into the history once it works: each turn
 * and reading counts once. Earlier entries cannot be read in the meantime: reading them throws the reason, so that no partial result
 * looks complete. Throws the errors of `open` other than `degraded`.
 */
export function openFallbackHistory({ open, clock, events }: FallbackHistoryOptions): FallbackHistory {
  const memory = openHistory({ file: ":memory:" });
  const waiting: ((history: UsageHistory) => void)[] = [];
  let primary: UsageHistory | undefined;
  const failed = new Notifier();
  let degradedBy: MillraceError | undefined;

  /** Whether the work could be done; a history that fails is not asked again until it heals. */
  function attempt(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      if (!isDegraded(error)) throw error;
      if (degradedBy?.message !== error.message) events?.emit("history_failed", { error });
      degradedBy = error;
      failed.wake();
      return false;
    }
  }

  function add<T>(work: (history: UsageHistory) => T): T {
    let result: { readonly value: T } | undefined;
    if (degradedBy === undefined) attempt(() => (result = { value: work(opened()) }));
    if (result !== undefined) return result.value;
    waiting.push(work);
    if (waiting.length > mostKept) waiting.shift();
    return work(memory);
  }

  /** The history that has every entry. Throws the reason if there is none: some wait in memory then. */
  function whole(): UsageHistory {
    if (degradedBy !== undefined) throw degradedBy;
    return opened();
  }

  function opened(): UsageHistory {
    return (primary ??= open());
  }
  attempt(opened);
  return {
    get degradedBy() {
      return degradedBy;
    },
    addTurn: (turn) => add((history) => history.addTurn(turn)),
    addTurns: (turns) => add((history) => history.addTurns(turns)),
    addSnapshot: (snapshot) => add((history) => history.addSnapshot(snapshot)),
    snapshots: (query) => whole().snapshots(query),
    spend: (query) => whole().spend(query),
    spendByDay: (query) => whole().spendByDay(query),
    lastUses: (models) => whole().lastUses(models),
    modelNames: (untilMs) => whole().modelNames(untilMs),
    turnPage: (query) => whole().turnPage(query),
    turnTotals: (filter) => whole().turnTotals(filter),
    turnBars: (filter, widthMs) => whole().turnBars(filter, widthMs),
    turnGroups: () => whole().turnGroups(),
    explained: (...asked) => whole().explained(...asked),
    // These two are asked for new entries: memory has them, and a repeated entry counts once.
    turn: (turnId) => (primary ?? memory).turn(turnId) ?? memory.turn(turnId),
    latestSnapshots: (sinceMs) => (primary ?? memory).latestSnapshots(sinceMs),
    sweep(nowMs) {
      let isMore = false;
      if (degradedBy === undefined) attempt(() => (isMore = opened().sweep(nowMs)));
      return isMore;
    },
    async heal(signal) {
      while (!signal.aborted) {
        if (degradedBy === undefined) await bestEffort(failed.wait(signal));
        await bestEffort(clock.sleep(healEveryMs, signal));
        if (signal.aborted) return;
        let isWell = attempt(opened);
        while (isWell && waiting.length > 0) {
          const some = waiting.slice(0, healedAtOnce);
          isWell = attempt(() => some.forEach((add) => add(opened())));
          if (isWell) waiting.splice(0, some.length); // only now: what was not taken waits on
          await ownTurn();
        }
        if (!isWell) continue;
        degradedBy = undefined;
        events?.emit("history_recovered", {});
      }
    },
    close() {
      primary?.close();
      memory.close();
    },
  };
}
