import { bestEffort, orAborted, within } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { EventSource } from "../../base/emitter.ts";
import { startOfLog, type TurnId } from "../../base/ids.ts";
import { writeJson } from "../../base/json.ts";
import { Notifier } from "../../base/notifier.ts";
import { type OutlinedEvent, outlineEvent, shorten } from "../../log/event.ts";
import type { TurnLabel } from "../../log/store.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import type { Turns } from "../../turns/open-turns.ts";
import type { WireEvent } from "../dialects/dialect.ts";
import { encodeUnread, type Names, summaryOf, type TurnSummary, tailAfter } from "./turn-summary.ts";

/** The events that the dashboard subscribes to. */
export type GatewayEvents = EventSource<Pick<TurnLifecycle, "turn_started">>;

/** How many turns a new onlooker is shown. */
const shownAtFirst = 40;
/** How many turns it knows at once, beside those that run. */
const defaultMostKnown = 1_000;
/** The shortest time between two events about changes of one turn; ms. */
const quietMs = 250;
/** How often the feed looks for turns of other processes. No event announces them. */
const lookAgainMs = 10_000;
/** How long the feed is silent at most; ms. A page takes a longer silence for a gateway that hangs. */
const heartbeatMs = 3_000;
/** How long the feed waits for news of turns before it looks at the state again; ms. Together with `quietMs` well under a second. */
const stateEveryMs = 250;

/**
 * The turns as they run, for one onlooker: first a list, then each that began or changed; and `state` whenever the gateway's own state
 * has changed since. It reads logs to their end and keeps no turn alive. Ends when the signal aborts.
 */
export async function* turnFeed(
  options: {
    readonly turns: Pick<Turns, "list" | "getLabel" | "outline" | "follow" | "unread">;
    readonly events: GatewayEvents;
    readonly clock: Clock;
    readonly names: Names;
    /** Changes with what the page says at its top: the pause, the store, the IDEs. Asked several times a second. */
    readonly state: () => string;
    /** Whether each running turn shows the end of its text now. */
    readonly showsText: () => boolean;
    /** 1,000 where unset. */
    readonly mostKnown?: number;
  },
  signal: AbortSignal,
): AsyncGenerator<WireEvent, void> {
  const { turns, events, clock, names, state, showsText, mostKnown = defaultMostKnown } = options;
  const summaries = new Map<string, TurnSummary>();
  const changed = new Set<string>();
  const stop = new AbortController();
  const stopped = AbortSignal.any([signal, stop.signal]);
  const news = new Notifier();

  const unreadOf = ({ id, status }: TurnSummary) =>
    status === "running" ? encodeUnread(turns.unread(id as TurnId)) : null; // the id of a turn, as text
  /** A page that stays open for days learns of each turn, and nobody asks for what it was told long ago. */
  const forgetOld = () => {
    for (const { id, status } of summaries.values()) {
      if (summaries.size <= mostKnown) return;
      if (status !== "running" && !changed.has(id)) summaries.delete(id);
    }
  };
  const tell = (summary: TurnSummary) => {
    summaries.set(summary.id, { ...summary, without_client: unreadOf(summary) });
    changed.add(summary.id);
    forgetOld();
    news.wake();
  };
  /** No event tells that a client left, or came back to a turn that says nothing. */
  const lookForReaders = () => {
    for (const summary of summaries.values()) {
      if (summary.status !== "running") continue;
      const unread = unreadOf(summary);
      if (unread?.since !== summary.without_client?.since || unread?.until !== summary.without_client?.until)
        tell(summary);
    }
  };

  const summarize = (record: TurnLabel, short?: readonly OutlinedEvent[], newest?: OutlinedEvent) => ({
    ...summaryOf(record, names, short, newest),
    ...(record.question !== undefined && showsText() ? { question: record.question } : {}),
  });

  async function follow(record: TurnLabel): Promise<void> {
    if (record.ended) return tell(summarize(record, record.outline));
    let short: readonly OutlinedEvent[] = [];
    let newest: OutlinedEvent | undefined;
    const summaryAfter = (event: OutlinedEvent) => {
      short = shorten(short, event);
      if (event.type !== "usage") newest = event;
      return summarize(record, short, newest);
    };
    if (!showsText() || record.sealed === true) {
      for await (const event of turns.outline(record.turnId, startOfLog, stopped)) tell(summaryAfter(event));
      return;
    }
    let tail = "";
    for await (const event of turns.follow(record.turnId, startOfLog, stopped)) {
      const summary = summaryAfter(outlineEvent(event));
      tail = tailAfter(tail, event);
      tell({ ...summary, ...(summary.status === "running" && showsText() ? { tail } : {}) });
    }
  }

  /** Resolves after the last event about this turn. */
  async function watch(record: TurnLabel): Promise<void> {
    if (summaries.has(record.turnId)) return;
    tell(summarize(record));
    await follow(record).catch(async () => {
      const label = await turns.getLabel(record.turnId).catch(() => undefined); // it was removed, or the gateway stops
      if (label?.ended === true) tell(summarize(label, label.outline));
    });
  }

  const unsubscribe = events.on("turn_started", ({ turnId }) => {
    turns.getLabel(turnId).then(
      (record) => void (record !== undefined && watch(record)),
      () => undefined, // as above
    );
  });
  try {
    const first = (await turns.list({ limit: shownAtFirst })).map((record) => ({ record, told: watch(record) }));
    // Those that ended are read first, so that the list does not begin with what is not known yet.
    const ended = Promise.all(first.filter(({ record }) => record.ended).map(({ told }) => told));
    await bestEffort(orAborted(within(ended, quietMs, clock), stopped));
    changed.clear();
    let told = state();
    yield { name: "turns", data: writeJson([...summaries.values()]) };
    let [lookedAt, spokeAt] = [clock.monotonic(), clock.monotonic()];
    while (!stopped.aborted) {
      const now = clock.monotonic();
      if (now - lookedAt >= lookAgainMs) {
        lookedAt = now;
        for (const record of await turns.list({ open: true, limit: 100 })) void watch(record);
      }
      const current = state();
      if (current !== told) {
        told = current;
        spokeAt = now;
        yield { name: "state", data: "{}" };
      }
      lookForReaders();
      const due = [...changed];
      changed.clear();
      for (const id of due) {
        const summary = summaries.get(id);
        if (summary === undefined) continue;
        spokeAt = now;
        yield { name: "turn", data: writeJson(summary) };
      }
      if (now - spokeAt >= heartbeatMs) {
        spokeAt = now;
        yield { name: "alive", data: "{}" };
      }
      await clock.sleep(quietMs, stopped);
      if (changed.size > 0) continue;
      const enough = new AbortController();
      const over = AbortSignal.any([stopped, enough.signal]);
      await Promise.race([bestEffort(news.wait(over)), bestEffort(clock.sleep(stateEveryMs, over))]);
      enough.abort();
    }
  } catch (error) {
    if (!stopped.aborted) throw error;
  } finally {
    stop.abort();
    unsubscribe();
  }
}
