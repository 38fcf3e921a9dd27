import { useEffect, useState } from "preact/hooks";
import { api, type LiveTurn, SignedOut } from "./api.ts";
import { readBatches, type ServerEvent } from "./event-stream.ts";
import { noteAnswer, noteSilence, silentSince } from "./gateway-link.ts";
import { never, report, whenSeen } from "./use-data.ts";

/** The turns that run and the latest that ended, as the gateway tells them. */
export interface LiveTurns {
  readonly turns: ReadonlyMap<string, LiveTurn>;
  readonly connection: "connecting" | "live" | "lost";
}

const longestWaitMs = 4_000;
/** The feed says something every three seconds: one that is silent for longer than this belongs to a gateway that hangs. */
const patienceMs = 8_000;

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

/** What the tab that reads the feed tells the others. A tab that opens says hello; `renew` asks for a feed that begins anew. */
type Message =
  | { readonly type: "hello" | "renew" }
  | {
      readonly type: "told";
      readonly events: readonly ServerEvent[];
      readonly connection: LiveTurns["connection"];
      readonly isSilent: boolean;
    };

const shared = "millrace-feed";
let others: BroadcastChannel | undefined;
let renew = () => {};

/**
 * Follows the gateway's feed while a user is signed in. One tab of the browser reads it, and tells all others: a browser opens six
 * connections to one gateway, and an eighth tab would wait for ever. When that tab is closed, another one reads. Source: Web Locks API.
 */
export function useFeed(): void {
  useEffect(() => {
    const stop = new AbortController();
    const channel = new BroadcastChannel(shared);
    let isReader = false;
    others = channel;
    channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
      if (data.type === "told") hear(data);
      else if (data.type === "renew") renewHere();
      else if (isReader) say([{ name: "turns", data: JSON.stringify([...live.turns.values()]) }], live.connection);
    });
    const read = () => {
      isReader = true;
      return follow(stop.signal);
    };
    const take = async () => {
      // A page that came over http from another host has no locks.
      if (!("locks" in navigator)) return read();
      post({ type: "hello" });
      await navigator.locks.request(shared, { signal: stop.signal }, read);
    };
    take().catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
    return () => {
      stop.abort();
      channel.close();
      others = undefined;
      live = before;
    };
  }, []);
}

function post(message: Message): void {
  // oxlint-disable-next-line require-post-message-target-origin -- a channel has no other origin
  others?.postMessage(message);
}

/** Texts are shown or hidden now, in all tabs: what runs is told anew. */
export function renewFeed(): void {
  post({ type: "renew" });
  renewHere();
}

function renewHere(): void {
  renew();
  for (const { onState } of listeners) onState?.();
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
  while (!signal.aborted) {
    const end = new AbortController();
    renew = () => end.abort();
    let patience: ReturnType<typeof setTimeout> | undefined;
    const wait = () => {
      clearTimeout(patience);
      patience = setTimeout(() => {
        noteSilence();
        end.abort();
      }, patienceMs);
    };
    try {
      wait();
      const response = await api.stream("/dashboard/api/turns/feed", AbortSignal.any([signal, end.signal]));
      // What came together is shown together: fifty turns that grow are one change of the page, not fifty.
      for await (const events of readBatches(response)) {
        waitMs = 500;
        wait();
        say(events, "live");
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!end.signal.aborted) report(error);
      if (error instanceof SignedOut) return;
    } finally {
      clearTimeout(patience);
    }
    if (signal.aborted) return;
    const isRenewed = end.signal.aborted && silentSince() === undefined;
    if (isRenewed) continue;
    say([], "lost");
    const ms = waitMs;
    await new Promise((resolve) => setTimeout(resolve, ms));
    waitMs = Math.min(longestWaitMs, waitMs * 2);
  }
}

/** Shows what the feed told, here and in all other tabs. */
function say(events: readonly ServerEvent[], connection: LiveTurns["connection"]): void {
  post({ type: "told", events, connection, isSilent: silentSince() !== undefined });
  apply(events, connection);
}

function hear({ events, connection, isSilent }: Extract<Message, { type: "told" }>): void {
  if (isSilent) noteSilence();
  else if (connection === "live") noteAnswer();
  apply(events, connection);
}

/** The turns that were seen to run. */
const running = new Set<string>();

function apply(events: readonly ServerEvent[], connection: LiveTurns["connection"]): void {
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
  show({ turns, connection });
  for (const { onEnd, onState } of listeners) {
    if (hasEnded) onEnd?.();
    // What changed before a new connection was told to nobody.
    if (isWhole || events.some(({ name }) => name === "state")) onState?.();
  }
}
