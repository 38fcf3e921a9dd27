import { useEffect, useState } from "preact/hooks";
import { api, type LiveTurn, SignedOut } from "./api.ts";
import { readEvents } from "./event-stream.ts";
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
      for await (const event of readEvents(await api.stream("/v1/turns/feed", signal))) {
        waitMs = 500;
        if (event.name === "turns") {
          const turns = JSON.parse(event.data) as LiveTurn[]; // the feed's own form
          for (const turn of turns) if (turn.status === "running") running.add(turn.id);
          setLive(() => ({ turns: new Map(turns.map((turn) => [turn.id, turn])), connection: "live" }));
        } else if (event.name === "turn") {
          const turn = JSON.parse(event.data) as LiveTurn; // as above
          if (turn.status === "running") running.add(turn.id);
          else if (running.delete(turn.id)) onEnd();
          setLive(({ turns }) => ({ turns: new Map(turns).set(turn.id, turn), connection: "live" }));
        }
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
