import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, SignedOut, Unreachable } from "./api.ts";
import { onLinkChange, silentSince } from "./gateway-link.ts";

/** What a part of the page has: nothing yet, data (perhaps with the error of a later attempt beside it), or an error. */
export interface DataState<T> {
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

/** Tells a failure to whom it concerns, and answers it as one to show; undefined where the page says it elsewhere. */
export function report(error: unknown): ApiError | undefined {
  if (error instanceof SignedOut) {
    for (const listener of signedOutListeners) listener();
    return undefined;
  }
  if (error instanceof Unreachable) return undefined;
  return error instanceof ApiError ? error : new ApiError("Something went wrong on this page.", "Load it again.");
}

/**
 * Loads when `key` changes, every `everyMs` after that, on `reload`, and when the gateway answers again; keeps what it had
 * while it loads again.
 */
export function useData<T>(key: string, load: (signal: AbortSignal) => Promise<T>, everyMs?: number): DataState<T> {
  const [state, setState] = useState<{ data: T | undefined; error: ApiError | undefined }>({
    data: undefined,
    error: undefined,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const reload = useCallback(() => setRound((count) => count + 1), []);
  useEffect(() => onLinkChange(() => silentSince() === undefined && reload()), [reload]);
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

/** Does one thing at a time: whether it is under way, and what went wrong. */
export function useAct() {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const act = async (what: () => Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    try {
      await what();
    } catch (failure) {
      setError(report(failure));
    }
    setBusy(false);
  };
  return { isBusy, error, run: (what: () => Promise<unknown>) => void act(what) };
}

/** The time, epoch ms, renewed every `everyMs`. It stands still while the gateway does not answer: nothing is known to go on. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => silentSince() ?? Date.now());
  useEffect(() => {
    const renew = () => setNow(silentSince() ?? Date.now());
    const timer = setInterval(renew, everyMs);
    const ignore = onLinkChange(renew);
    return () => {
      clearInterval(timer);
      ignore();
    };
  }, [everyMs]);
  return now;
}
