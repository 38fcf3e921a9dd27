import type { Clock } from "../base/clock.ts";
import { startOfLog, type TurnId } from "../base/ids.ts";
import type { TurnRecord } from "../log/store.ts";
import type { Turns } from "../turns/turns.ts";
import type { WireEvent } from "./dialects/dialect.ts";
import type { TurnStarts } from "./turn-starts.ts";
import { beginSummary, summarize, type TurnSummary } from "./turn-summary.ts";

export interface TurnFeedOptions {
  readonly turns: Pick<Turns, "list" | "get" | "follow">;
  readonly starts: TurnStarts;
  readonly clock: Clock;
}

/** How many turns a new onlooker is shown. */
const shownAtFirst = 40;
/** Changes of one turn are told at most this often. */
const quietMs = 250;
/** Turns that another process began are looked for this often: nobody announces them here. */
const lookAgainMs = 10_000;
const heartbeatMs = 15_000;

/**
 * The turns as they run, for one onlooker: first a list, then each that began or changed. It reads logs to their end and
 * keeps no turn alive. Ends when the signal aborts.
 */
export async function* turnFeed(options: TurnFeedOptions, signal: AbortSignal): AsyncGenerator<WireEvent, void> {
  const { turns, starts, clock } = options;
  const summaries = new Map<string, TurnSummary>();
  const changed = new Set<string>();
  const stop = new AbortController();
  const stopped = AbortSignal.any([signal, stop.signal]);
  let wake = () => {};

  const tell = (summary: TurnSummary) => {
    summaries.set(summary.id, summary);
    changed.add(summary.id);
    wake();
  };

  async function follow(record: TurnRecord, reading: Pick<Turns, "follow">): Promise<void> {
    let summary = beginSummary(record);
    for await (const event of reading.follow(record.turnId, startOfLog, stopped)) {
      summary = summarize(summary, event);
      // An ended turn is told once, as it ended, not as it grew.
      if (!record.ended) tell(summary);
    }
    tell(summary);
  }

  function watch(record: TurnRecord, reading: Pick<Turns, "follow"> = turns): void {
    if (summaries.has(record.turnId)) return;
    tell(beginSummary(record));
    follow(record, reading).catch(() => undefined); // forgotten meanwhile, or the gateway stops: what was told of it stays
  }

  const unsubscribe = starts.subscribe((turnId: TurnId, reading) => {
    reading.get(turnId).then(
      (record) => record !== undefined && watch(record, reading),
      () => undefined, // as above
    );
  });
  try {
    for (const record of await turns.list({ limit: shownAtFirst })) watch(record);
    changed.clear();
    yield { name: "turns", data: JSON.stringify([...summaries.values()]) };
    let [lookedAt, spokeAt] = [clock.monotonic(), clock.monotonic()];
    while (!stopped.aborted) {
      const now = clock.monotonic();
      if (now - lookedAt >= lookAgainMs) {
        lookedAt = now;
        for (const record of await turns.list({ open: true, limit: 100 })) watch(record);
      }
      const due = [...changed];
      changed.clear();
      for (const id of due) {
        spokeAt = now;
        yield { name: "turn", data: JSON.stringify(summaries.get(id)) };
      }
      if (now - spokeAt >= heartbeatMs) {
        spokeAt = now;
        yield { name: "alive", data: "{}" };
      }
      await clock.sleep(quietMs, stopped);
      if (changed.size > 0) continue;
      const change = new Promise<void>((resolve) => (wake = resolve));
      const pause = new AbortController();
      const paused = clock.sleep(lookAgainMs, AbortSignal.any([stopped, pause.signal]));
      await Promise.race([change, paused.catch(() => undefined)]); // ended below, or by the onlooker
      pause.abort();
    }
  } catch (error) {
    if (!stopped.aborted) throw error;
  } finally {
    stop.abort();
    unsubscribe();
  }
}
