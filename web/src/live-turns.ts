import { useEffect, useState } from "preact/hooks";
import { api, type LiveTurn, SignedOut } from "./api.ts";
import { readBatches } from "./event-stream.ts";
import { never, report, whenSeen } from "./use-data.ts";

/** The turns that run and the latest that ended, as the gateway tells them. */
export interface LiveTurns {
  readonly turns: ReadonlyMap<string, LiveTurn>;
  readonly connection: "connecting" | "live" | "lost";
}

const longestWaitMs = 4_000;

interface Listener {
  readonly onChange?: () => void;
  /** A turn ended. */
  readonly onEnd?: () => void;
  /** A pause, the store or the IDEs may have changed. */
  readonly onState?: () => void;
}

const before: LiveTurns = { turns: new Map(), connection: "connecting" };
let live = before;
const listeners = new Set<Listener>();

function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function show(next: LiveTurns): void {
  live = next;
  for (const { onChange } of listeners) onChange?.();
}

/** Follows the gateway's feed while a user is signed in, anew when texts are shown or hidden; after a break it waits a little longer each time. */
export function useFeed(withTexts: boolean): void {
  useEffect(() => {
    const stop = new AbortController();
    void follow(stop.signal);
    return () => {
      stop.abort();
      live = before;
    };
  }, [withTexts]);
}

/** The turns as the feed tells them. */
export function useLiveTurns(): LiveTurns {
  const [shown, setShown] = useState(live);
  useEffect(() => {
    setShown(live);
    return listen({ onChange: () => setShown(live) });
  }, []);
  return shown;
}

/** How many turns run. Renders only when the number is another one. */
export function useRunningCount(): number {
  const count = () => [...live.turns.values()].filter(({ status }) => status === "running").length;
  const [running, setRunning] = useState(count);
  useEffect(() => listen({ onChange: () => setRunning(count()) }), []);
  return running;
}

/** The usage history takes a turn in a moment after its end. */
const takenInMs = 1_000;
/** The shortest time between two loads of one part of the page: turns may end many times a second. */
const apartMs = 10_000;

/**
 * Calls back in this time after a turn's end, at most every ten seconds, and once more ten seconds later: a busy gateway counts a turn
 * late. A hidden tab calls back when it is seen.
 */
export function useTurnEnd(onEnd: () => void, afterMs = takenInMs, alsoHidden = never): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let forget = () => {};
    let loadedAtMs = Number.NEGATIVE_INFINITY;
    let hasEnded = false;
    const load = () => {
      loadedAtMs = performance.now();
      if (hasEnded) wait(apartMs);
      hasEnded = false;
      onEnd();
    };
    const wait = (ms: number) => {
      timer ??= setTimeout(() => {
        timer = undefined;
        forget();
        forget = whenSeen(load, alsoHidden);
      }, ms);
    };
    const ignore = listen({
      onEnd: () => {
        hasEnded = true;
        wait(Math.max(afterMs, loadedAtMs + apartMs - performance.now()));
      },
    });
    return () => {
      ignore();
      clearTimeout(timer);
      forget();
    };
  }, [onEnd, afterMs, alsoHidden]);
}

export function useStateChange(onState: () => void): void {
  useEffect(() => listen({ onState }), [onState]);
}

async function follow(signal: AbortSignal): Promise<void> {
  let waitMs = 500;
  const running = new Set<string>();
  while (!signal.aborted) {
    try {
      // What came together is shown together: fifty turns that grow are one change of the page, not fifty.
      for await (const events of readBatches(await api.stream("/dashboard/api/turns/feed", signal))) {
        waitMs = 500;
        let isWhole = false;
        const told: LiveTurn[] = [];
        for (const { name, data } of events) {
          if (name === "turns") isWhole = true;
          if (name === "turns") told.push(...(JSON.parse(data) as LiveTurn[])); // the feed's own form
          if (name === "turn") told.push(JSON.parse(data) as LiveTurn); // as above
        }
        let hasEnded = false;
        for (const { id, status } of told) {
          if (status === "running") running.add(id);
          // One that failed at once is told of when it has ended, and was never seen to run. It may have ended while the page was loaded.
          else if (running.delete(id) || !live.turns.has(id)) hasEnded = true;
        }
        const turns = new Map(isWhole ? [] : live.turns);
        for (const turn of told) turns.set(turn.id, turn);
        show({ turns, connection: "live" });
        for (const { onEnd, onState } of listeners) {
          if (hasEnded) onEnd?.();
          // What changed before a new connection was told to nobody.
          if (isWhole || events.some(({ name }) => name === "state")) onState?.();
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      report(error);
      if (error instanceof SignedOut) return;
    }
    show({ turns: live.turns, connection: "lost" });
    const ms = waitMs;
    await new Promise((resolve) => setTimeout(resolve, ms));
    waitMs = Math.min(longestWaitMs, waitMs * 2);
  }
}
