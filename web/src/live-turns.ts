import { useEffect, useState } from "preact/hooks";
import { api, type LiveTurn, SignedOut } from "./api.ts";
import { readBatches } from "./event-stream.ts";
import { report } from "./use-data.ts";

/** The turns that run and the latest that ended, as the gateway tells them. */
export interface LiveTurns {
  readonly turns: ReadonlyMap<string, LiveTurn>;
  readonly connection: "connecting" | "live" | "lost";
}

const longestWaitMs = 4_000;

/** Follows the feed of turns; after a break it waits a little longer each time. `onEnd` is called when a turn ends. */
export function useLiveTurns(onEnd: () => void): LiveTurns {
  const [live, setLive] = useState<LiveTurns>({ turns: new Map(), connection: "connecting" });
  useEffect(() => {
    const stop = new AbortController();
    void follow(stop.signal, setLive, onEnd);
    return () => stop.abort();
  }, [onEnd]);
  return live;
}

async function follow(
  signal: AbortSignal,
  setLive: (change: (before: LiveTurns) => LiveTurns) => void,
  onEnd: () => void,
): Promise<void> {
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
          else if (running.delete(id)) hasEnded = true;
        }
        setLive((before) => {
          const turns = new Map(isWhole ? [] : before.turns);
          for (const turn of told) turns.set(turn.id, turn);
          return { turns, connection: "live" };
        });
        if (hasEnded) onEnd();
      }
    } catch (error) {
      if (signal.aborted) return;
      report(error);
      if (error instanceof SignedOut) return;
    }
    setLive(({ turns }) => ({ turns, connection: "lost" }));
    const ms = waitMs;
    await new Promise((resolve) => setTimeout(resolve, ms));
    waitMs = Math.min(longestWaitMs, waitMs * 2);
  }
}
