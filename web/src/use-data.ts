import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, SignedOut } from "./api.ts";

/** What a part of the page has: nothing yet, data (perhaps with the error of a later attempt beside it), or an error. */
export interface Loaded<T> {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly reload: () => void;
}

const signedOutListeners = new Set<() => void>();

/** Calls back once any request finds the session over. */
export function onSignedOut(listener: () => void): () => void {
  signedOutListeners.add(listener);
  return () => signedOutListeners.delete(listener);
}

/** Tells a failure to whom it concerns, and answers it as one to show. */
export function report(error: unknown): ApiError | undefined {
  if (error instanceof SignedOut) {
    for (const listener of signedOutListeners) listener();
    return undefined;
  }
  return error instanceof ApiError ? error : new ApiError("Something went wrong on this page.", "Load it again.");
}

/** Loads when `key` changes, every `everyMs` after that, and on `reload`; keeps what it had while it loads again. */
export function useData<T>(key: string, load: (signal: AbortSignal) => Promise<T>, everyMs?: number): Loaded<T> {
  const [state, setState] = useState<{ data: T | undefined; error: ApiError | undefined }>({
    data: undefined,
    error: undefined,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const reload = useCallback(() => setRound((count) => count + 1), []);
  useEffect(() => {
    const stop = new AbortController();
    latest.current(stop.signal).then(
      (data) => stop.signal.aborted || setState({ data, error: undefined }),
      (error: unknown) => {
        if (!stop.signal.aborted) setState((before) => ({ data: before.data, error: report(error) }));
      },
    );
    const timer = everyMs === undefined ? undefined : setTimeout(reload, everyMs);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, round, everyMs, reload]);
  return { ...state, reload };
}

/** The time, epoch ms, renewed every `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
