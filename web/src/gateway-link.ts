import { useEffect, useState } from "preact/hooks";

/** Since when the gateway does not answer, epoch ms; undefined while it does. One for the whole page. */
let silentSinceMs: number | undefined;
const listeners = new Set<() => void>();

function tell(sinceMs: number | undefined): void {
  if (silentSinceMs === sinceMs) return;
  silentSinceMs = sinceMs;
  for (const listener of listeners) listener();
}

/** Every request tells here whether it got an answer: the first silence counts, and any answer ends it. */
export function noteSilence(): void {
  tell(silentSinceMs ?? Date.now());
}

export function noteAnswer(): void {
  tell(undefined);
}

export function silentSince(): number | undefined {
  return silentSinceMs;
}

/** Calls back when the gateway falls silent and when it answers again. */
export function onLinkChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useSilentSince(): number | undefined {
  const [since, setSince] = useState(silentSinceMs);
  useEffect(() => {
    setSince(silentSinceMs);
    return onLinkChange(() => setSince(silentSinceMs));
  }, []);
  return since;
}
