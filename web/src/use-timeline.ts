import { useEffect, useState } from "preact/hooks";
import { type ApiError, api, type TimelineEntry } from "./api.ts";
import { readBatches } from "./event-stream.ts";
import { onLinkChange, silentSince } from "./gateway-link.ts";
import { report } from "./use-data.ts";

/** A turn's log as far as it was read. */
export interface Timeline {
  readonly entries: readonly TimelineEntry[];
  readonly error: ApiError | undefined;
}

const nothing: Timeline = { entries: [], error: undefined };

/** Follows the turn to its end. Entries that come together are shown together: an old turn may have thousands. */
export function useTimeline(id: string, onEnd: () => void): Timeline {
  const [timeline, setTimeline] = useState(nothing);
  const [round, setRound] = useState(0);
  useEffect(() => onLinkChange(() => silentSince() === undefined && setRound((count) => count + 1)), []);
  useEffect(() => {
    const stop = new AbortController();
    const follow = async () => {
      for await (const events of readBatches(await api.stream(`/dashboard/api/turns/${id}/timeline`, stop.signal))) {
        const entries = events.filter(({ name }) => name === "entry").map(({ data }) => JSON.parse(data));
        setTimeline((before) => ({
          ...before,
          entries: [...before.entries, ...(entries as TimelineEntry[])], // the timeline's own forms
        }));
      }
      onEnd();
    };
    setTimeline(nothing);
    follow().catch((failure: unknown) => {
      if (stop.signal.aborted) return;
      const shown = report(failure);
      setTimeline((before) => ({ ...before, error: shown }));
    });
    return () => stop.abort();
  }, [id, onEnd, round]);
  return timeline;
}
