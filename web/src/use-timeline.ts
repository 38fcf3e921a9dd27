import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, api, SignedOut, type TimelineEntry } from "./api.ts";
import { readBatches } from "./event-stream.ts";
import { onLinkChange, silentSince } from "./gateway-link.ts";
import { report } from "./use-data.ts";

/** A turn's log as far as it was read. */
export interface Timeline {
  readonly entries: readonly TimelineEntry[];
  readonly error: ApiError | undefined;
  /** The stream broke before the turn's end: it is tried again. */
  readonly isBroken: boolean;
  readonly retry: () => void;
}

type Read = Omit<Timeline, "retry">;

const isVisible = () => document.visibilityState !== "hidden";
const nothing: Read = { entries: [], error: undefined, isBroken: false };
const [firstWaitMs, longestWaitMs] = [500, 4_000];
const ends = new Set(["finished", "failed", "cancelled"]);

/**
 * Follows the turn to its end, and begins anew after a break. A hidden tab reads nothing: it would keep one of the browser's few connections.
 * Entries that come together are shown together: an old turn may have thousands.
 */
export function useTimeline(id: string, onEnd: () => void): Timeline {
  const [timeline, setTimeline] = useState(nothing);
  const [round, setRound] = useState(0);
  const [isSeen, setSeen] = useState(isVisible);
  const readWhole = useRef("");
  const retry = useCallback(() => setRound((count) => count + 1), []);
  useEffect(() => {
    const look = () => setSeen(isVisible());
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  useEffect(() => onLinkChange(() => silentSince() === undefined && retry()), [retry]);
  useEffect(() => {
    if (!isSeen || readWhole.current === id) return undefined;
    const stop = new AbortController();
    /** Whether the turn's end came. */
    const read = async () => {
      let isFirst = true;
      let hasEnded = false;
      for await (const events of readBatches(await api.stream(`/dashboard/api/turns/${id}/timeline`, stop.signal))) {
        const told = events.filter(({ name }) => name === "entry");
        const entries = told.map(({ data }) => JSON.parse(data) as TimelineEntry); // the timeline's own form
        hasEnded ||= entries.some(({ type }) => ends.has(type));
        const isNew = isFirst; // what was read before the break stays until then
        isFirst = false;
        setTimeline((before) => ({
          ...nothing,
          entries: [...(isNew ? [] : before.entries), ...entries],
        }));
      }
      return hasEnded;
    };
    const follow = async () => {
      for (let waitMs = firstWaitMs; !stop.signal.aborted; waitMs = Math.min(longestWaitMs, 2 * waitMs)) {
        try {
          if (await read()) {
            readWhole.current = id;
            return onEnd();
          }
        } catch (failure) {
          if (stop.signal.aborted) return;
          const error = report(failure);
          if (failure instanceof SignedOut) return;
          if (error !== undefined) return setTimeline((before) => ({ ...before, error, isBroken: false }));
        }
        if (stop.signal.aborted) return;
        setTimeline((before) => ({ ...before, isBroken: true }));
        const ms = waitMs;
        await new Promise((resolve) => setTimeout(resolve, ms));
      }
    };
    setTimeline((before) => ({ ...before, error: undefined }));
    void follow();
    return () => stop.abort();
  }, [id, onEnd, round, isSeen]);
  return { ...timeline, retry };
}
