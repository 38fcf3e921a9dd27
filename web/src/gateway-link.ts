import { useEffect, useState } from "preact/hooks";

/** What the page rests on, one for the whole page: since when the gateway does not answer, and since when no IDE can be asked. Epoch ms. */
let link: { readonly silentSinceMs?: number | undefined; readonly goneSinceMs?: number | undefined } = {};
const listeners = new Set<() => void>();

function tell(next: typeof link): void {
  if (next.silentSinceMs === link.silentSinceMs && next.goneSinceMs === link.goneSinceMs) return;
  link = next;
  for (const listener of listeners) listener();
}

/** Every request tells here whether it got an answer: the first silence counts, and any answer ends it. */
export function noteSilence(): void {
  tell({ ...link, silentSinceMs: link.silentSinceMs ?? Date.now() });
}

export function noteAnswer(): void {
  tell({ ...link, silentSinceMs: undefined });
}

/** Whether prompts can go to an IDE or an agent, each time that the gateway says so. */
export function noteTarget(isThere: boolean): void {
  tell({ ...link, goneSinceMs: isThere ? undefined : (link.goneSinceMs ?? Date.now()) });
}

export function silentSince(): number | undefined {
  return link.silentSinceMs;
}

/** Since when nothing is known of turns: without the gateway, or without the IDE that answers them. */
export function stillSince(): number | undefined {
  return link.silentSinceMs ?? link.goneSinceMs;
}

/** Calls back when the gateway or the IDE goes away, and when it is back. */
export function onLinkChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function useLink(): typeof link {
  const [shown, setShown] = useState(link);
  useEffect(() => {
    setShown(link);
    return onLinkChange(() => setShown(link));
  }, []);
  return shown;
}

export function useSilentSince(): number | undefined {
  return useLink().silentSinceMs;
}

/** What is gone, as title, header and rows say it alike; undefined while all is there. */
export function useGone(): "no gateway" | "no IDE" | undefined {
  const { silentSinceMs, goneSinceMs } = useLink();
  if (silentSinceMs !== undefined) return "no gateway";
  return goneSinceMs === undefined ? undefined : "no IDE";
}
