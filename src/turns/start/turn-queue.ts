import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { TurnId } from "../../base/ids.ts";
import type { NewTurn } from "../../log/store.ts";
import type { Exchange } from "../run/exchange.ts";

/** How often to check, while turns wait, whether a pause is over or a limit has changed; ms. A row of docs/retries.md. */
const lookAgainMs = 1_000;
/** From this lag of the event loop on, new turns wait for as long as it is late, and for `longestLateMs` at most; ms. */
const lateMs = 1_000;
const longestLateMs = 10_000;
/** How many turns that waited for the event loop begin together once it is in time again, and how far such groups are apart; ms. */
const atOnce = 16;
const groupMs = 50;

/** Where a turn stands in the queue: 1 is next. */
export interface QueuePlace {
  readonly position: number;
  readonly of: number;
}

export interface TurnLimits {
  /** How many turns may run at the same time in one IDE or agent; any number without it. May change. */
  readonly mostTurns?: (() => number | undefined) | undefined;
  /** How many of one caller may. */
  readonly mostOf?: ((caller: string) => number | undefined) | undefined;
  /** Whether no prompt may be sent now. */
  readonly isPaused?: (() => boolean) | undefined;
  /** How late the event loop was lately; ms. */
  readonly lagMs?: (() => number) | undefined;
  /** Calls the listener when `mostTurns` has changed. */
  readonly onChanged?: ((listener: () => void) => void) | undefined;
}

/** The limits at one moment. Reading them asks files, so each pass over the waiting turns reads them once. */
interface LimitsNow {
  readonly isPaused: boolean;
  readonly most: number | undefined;
  readonly mostOf: (caller: string) => number | undefined;
}

export interface TurnQueueOptions extends TurnLimits {
  readonly clock: Clock;
  /** Whether the turn has a reader. A turn without one keeps its place, and others may pass it. */
  readonly isRead: (turnId: TurnId) => boolean;
}

/**
 * How far a turn has come: its prompt was not sent, may have been sent, or is being answered. `left`: an earlier process left it,
 * and its prompt was not sent.
 */
export type Stage = "new" | "left" | "asked" | "answered";

type Queued = Pick<NewTurn, "turnId" | "caller" | "modelUid" | "graceMs">;

interface Waiter {
  readonly turn: Queued;
  readonly stage: Stage;
  readonly lane: string;
  readonly admit: () => void;
}

/**
 * Lets as many turns run as the limits allow; the others wait before their prompt is sent. A free place goes to the caller with the
 * fewest running turns, then to the one that was served longest ago, then to the first that came. So one caller with many turns does
 * not delay the others. While the event loop is late, new turns begin one by one, so that running turns make progress.
 */
export class TurnQueue {
  readonly #options: TurnQueueOptions;
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiter>();
  readonly #running = new Set<Waiter>();
  /** When each caller was served last, as a number that grows; callers without turns are forgotten. */
  readonly #servedAt = new Map<string, number>();
  #served = 0;
  #order: readonly Waiter[] | undefined;
  #looking = false;
  /** How many turns may begin before the next look at the event loop; undefined while it is in time. */
  #beginners: number | undefined;

  constructor(options: TurnQueueOptions) {
    this.#options = options;
    options.onChanged?.(() => this.pump());
  }

  /** Wraps the exchange so that it waits for its place. An exchange that is stopped before that sends nothing. */
  gate(turn: Queued, exchange: Exchange, stage: Stage = "new"): Exchange {
    return async (deliver, signal) => {
      const leave = await this.#enter(turn, stage, signal);
      try {
        if (signal.aborted && signal.reason === "detach") return;
        await exchange(deliver, signal); // also when it was cancelled: it frees what it holds, and sends nothing
      } finally {
        leave();
      }
    };
  }

  /** Undefined for a turn that does not wait. */
  placeOf(turnId: TurnId): QueuePlace | undefined {
    const index = this.#ordered().findIndex(({ turn }) => turn.turnId === turnId);
    return index < 0 ? undefined : { position: index + 1, of: this.#waiting.size };
  }

  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running.size, waiting: this.#waiting.size };
  }

  /** Starts the waiting turns that now have a place, after a turn came or left. */
  pump(): void {
    if (this.#waiting.size === 0) return;
    const now = this.#limitsNow();
    for (const waiter of this.#ordered()) if (this.#mayRun(waiter, now) && this.#isWanted(waiter)) this.#run(waiter);
    if (this.#waiting.size > 0) void this.#lookAgain();
  }

  async #enter(turn: Queued, stage: Stage, signal: AbortSignal): Promise<() => void> {
    const admitted = Promise.withResolvers<void>();
    const waiter: Waiter = { turn, stage, lane: laneOf(turn.modelUid), admit: admitted.resolve };
    const leave = () => {
      this.#order = undefined;
      this.#waiting.delete(waiter);
      this.#running.delete(waiter);
      this.#forget(turn.caller);
      this.pump();
    };
    if (signal.aborted) return leave;
    if (stage === "new" && this.#beginners === undefined && this.#isLate()) void this.#slowDown();
    this.#waiting.add(waiter);
    this.#order = undefined;
    const now = this.#limitsNow();
    const mayRun = (one: Waiter) => this.#mayRun(one, now);
    const isNext = this.#ordered().every((other) => other === waiter || !mayRun(other) || !this.#isWanted(other));
    if (isNext && mayRun(waiter) && this.#isExpected(waiter, now)) this.#run(waiter);
    else this.pump();
    signal.addEventListener("abort", waiter.admit, { once: true });
    await admitted.promise;
    signal.removeEventListener("abort", waiter.admit);
    return leave;
  }

  #run(waiter: Waiter): void {
    this.#order = undefined;
    this.#waiting.delete(waiter);
    this.#running.add(waiter);
    this.#servedAt.set(waiter.turn.caller, ++this.#served);
    if (this.#beginners !== undefined && waiter.stage === "new") this.#beginners--;
    waiter.admit();
  }

  #limitsNow(): LimitsNow {
    const { mostTurns, mostOf, isPaused } = this.#options;
    const known = new Map<string, number | undefined>();
    return {
      isPaused: isPaused?.() === true,
      most: mostTurns?.(),
      mostOf(caller) {
        if (!known.has(caller)) known.set(caller, mostOf?.(caller));
        return known.get(caller);
      },
    };
  }

  #mayRun({ turn: { caller }, lane, stage }: Waiter, { isPaused, most, mostOf }: LimitsNow): boolean {
    if (stage === "answered") return true;
    if (isPaused) return false;
    if (stage === "asked") return true; // it runs upstream already
    if (stage === "new" && this.#beginners !== undefined && this.#beginners <= 0) return false;
    const mostOfCaller = mostOf(caller);
    const inLane = () => [...this.#running].filter((other) => other.lane === lane).length;
    return (
      (most === undefined || inLane() < most) && (mostOfCaller === undefined || this.#runningOf(caller) < mostOfCaller)
    );
  }

  /** Who asks for a new turn is here, although its reading begins later. Turns that were left wait for those that run upstream. */
  #isExpected(waiter: Waiter, { most, mostOf }: LimitsNow): boolean {
    const isLimited = most !== undefined || mostOf(waiter.turn.caller) !== undefined;
    return waiter.stage !== "left" || !isLimited || this.#isWanted(waiter);
  }

  #isWanted({ turn: { turnId, graceMs }, stage }: Waiter): boolean {
    return stage === "asked" || stage === "answered" || graceMs === Infinity || this.#options.isRead(turnId);
  }

  #runningOf(caller: string): number {
    return [...this.#running].filter(({ turn }) => turn.caller === caller).length;
  }

  /** Those that wait, in the order in which they will be served. */
  #ordered(): readonly Waiter[] {
    return (this.#order ??= this.#sorted());
  }

  #sorted(): readonly Waiter[] {
    if (this.#waiting.size === 1) return [...this.#waiting]; // the usual case, without a look at all that run
    const byCaller = [...Map.groupBy(this.#waiting, ({ turn }) => turn.caller)].map(([caller, waiters]) => ({
      running: this.#runningOf(caller),
      servedAt: this.#servedAt.get(caller) ?? 0,
      waiters: waiters.toSorted((a, b) => (a.turn.turnId < b.turn.turnId ? -1 : 1)), // by their age, also those that were left
    }));
    const order: Waiter[] = [];
    for (let at = this.#served; order.length < this.#waiting.size; ) {
      const next = byCaller
        .filter(({ waiters }) => waiters.length > 0)
        .reduce((a, b) => ((b.running - a.running || b.servedAt - a.servedAt) < 0 ? b : a));
      const waiter = next.waiters.shift();
      if (waiter === undefined) break;
      order.push(waiter);
      next.running++;
      next.servedAt = ++at;
    }
    return order;
  }

  #forget(caller: string): void {
    const isHere = [...this.#waiting, ...this.#running].some(({ turn }) => turn.caller === caller);
    if (!isHere) this.#servedAt.delete(caller);
  }

  /** A turn that would run alone holds nobody up. */
  #isLate(): boolean {
    return this.#running.size > 0 && (this.#options.lagMs?.() ?? 0) >= lateMs;
  }

  /** While the event loop is late, one turn begins each time; then groups do, until none waits for this any more. */
  async #slowDown(): Promise<void> {
    const { clock, lagMs } = this.#options;
    do {
      this.#beginners = 0;
      await bestEffort(clock.sleep(Math.min(Math.max(groupMs, lagMs?.() ?? 0), longestLateMs), never));
      this.#beginners = this.#isLate() ? 1 : atOnce;
      this.pump();
    } while (this.#beginners === 0);
    this.#beginners = undefined;
  }

  /** Nobody says when a pause ends, or when the last of the keys that limit the turns does. */
  async #lookAgain(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    await bestEffort(this.#options.clock.sleep(lookAgainMs, never));
    this.#looking = false;
    this.pump();
  }
}

const never = new AbortController().signal;

/** Turns of one IDE or agent: `<agent>/<model>` names an agent, every other model is of the IDE that runs. */
function laneOf(modelUid: string): string {
  return modelUid.includes("/") ? (modelUid.split("/", 1)[0] ?? "") : "";
}
