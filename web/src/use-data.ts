import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, SignedOut, Unreachable } from "./api.ts";
import { onLinkChange, silentSince, stillSince } from "./gateway-link.ts";

/**
 * What a part of the page has. Loading: neither data nor an error. Shown: data. Stale: data, and the error of a later attempt. Failed: an
 * error alone. Data is always what the key asks for, or while that loads what was asked for before it (`isLoading`).
 */
export interface DataState<T> {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  /** When the data came, epoch ms. */
  readonly readAtMs: number | undefined;
  readonly isLoading: boolean;
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

interface Answer<T> {
  /** What it answers. */
  readonly key: string;
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly readAtMs: number | undefined;
}

export const never = () => false;

/** Calls back at once, or when a hidden tab is seen: nobody reads what it loads. Answers how to forget that. */
export function whenSeen(then: () => void, alsoHidden = never): () => void {
  const stop = new AbortController();
  const look = () => {
    if (document.visibilityState === "hidden" && !alsoHidden()) return;
    stop.abort();
    then();
  };
  document.addEventListener("visibilitychange", look, { signal: stop.signal });
  look();
  return () => stop.abort();
}

/**
 * Loads when `key` changes, every `everyMs` after that where the tab is seen, on `reload`, and when the gateway answers again; one load at a
 * time. Keeps what it had while it loads again.
 */
// oxlint-disable-next-line max-params -- four, and one of two parts of the page that load in a hidden tab
export function useData<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  everyMs?: number,
  alsoHidden = never,
): DataState<T> {
  const [state, setState] = useState<Answer<T>>({ key, data: undefined, error: undefined, readAtMs: undefined });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const loads = useRef({ isUnderWay: false, isWanted: false });
  const reload = useCallback(() => {
    if (loads.current.isUnderWay) loads.current.isWanted = true;
    else setRound((count) => count + 1);
  }, []);
  useEffect(() => onLinkChange(() => silentSince() === undefined && reload()), [reload]);
  useEffect(() => {
    const stop = new AbortController();
    loads.current = { isUnderWay: true, isWanted: false };
    const loading = latest.current(stop.signal).then(
      (data) => stop.signal.aborted || setState({ key, data, error: undefined, readAtMs: Date.now() }),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        const shown = report(error);
        // The figures of another range, under the name of this one, would be wrong.
        const nothing = { data: undefined, readAtMs: undefined };
        setState((before) => ({ ...(before.key === key ? before : { ...before, ...nothing }), key, error: shown }));
      },
    );
    const settled = () => {
      if (stop.signal.aborted) return;
      loads.current.isUnderWay = false;
      if (loads.current.isWanted) reload();
    };
    void loading.finally(settled);
    let forget = () => {};
    const again = () => {
      forget = whenSeen(reload, alsoHidden);
    };
    const timer = everyMs === undefined ? undefined : setTimeout(again, everyMs);
    return () => {
      stop.abort();
      clearTimeout(timer);
      forget();
    };
  }, [key, round, everyMs, reload, alsoHidden]);
  return useMemo(() => {
    const { data, error, readAtMs } = state;
    const isLoading = state.key !== key;
    return { data, error: isLoading ? undefined : error, readAtMs, isLoading, reload };
  }, [state, key, reload]);
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

/** One clock for the whole page: it ticks each second, while something shows the time. */
const tickers = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

function onTick(listener: () => void): () => void {
  tickers.add(listener);
  ticking ??= setInterval(() => tickers.forEach((tick) => tick()), 1000);
  return () => {
    tickers.delete(listener);
    if (tickers.size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
  };
}

/**
 * The page's time, epoch ms, renewed every `everyMs`, for all parts at once. It stands still while the gateway does not answer, and with
 * `stillAt` as that says: nothing is known to go on.
 */
export function useNow(everyMs: number, stillAt = silentSince): number {
  const [now, setNow] = useState(() => stillAt() ?? Date.now());
  useEffect(() => {
    let shown = Math.floor(Date.now() / everyMs);
    const renew = () => setNow(stillAt() ?? Date.now());
    const ignoreTicks = onTick(() => {
      const part = Math.floor(Date.now() / everyMs);
      if (part === shown) return;
      shown = part;
      renew();
    });
    const ignore = onLinkChange(renew);
    return () => {
      ignoreTicks();
      ignore();
    };
  }, [everyMs, stillAt]);
  return now;
}

/** The time of turns that run, each second: it stands still also while no IDE can be asked. */
export const useTurnClock = () => useNow(1000, stillSince);
