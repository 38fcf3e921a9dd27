import type { Clock } from "../../base/clock.ts";
import { waitFor } from "../../base/wait.ts";

/** The turns that wake up at one time. */
type Slot = Set<() => void>;

/** Polls are due at multiples of this, so that turns wake up together. */
const gridMs = 4;
/** From so many turns on, at multiples of twice as much: half of the wake-ups, and of the commits that follow them. */
const manyTurns = 8;
/** Part of the interval by which a poll may be later than it has to be, or earlier, to share a wake-up. Later also because a wake-up is full. */
const spread = 0.25;
/** So many turns share a wake-up, and the commit after it. With more of them the last would wait for the work of the first. */
const fullWakeUp = 16;
/** With n turns, each waits at least this times the root of n: 60 ms for 64 turns, 94 for 156. */
const perRootMs = 7.5;
/** All turns together poll this often at most; ms from one poll to the next. It counts from 156 turns on: 120 ms for 200, 240 for 400. */
const perTurnMs = 0.6;
/** Up to 55 turns wait longer, up to a limit: people notice no difference, and the processor does. 56 ms from 16 turns on. */
const perRootOfFewMs = 14;
const mostOfFewMs = 56;
/** Wake-ups that are this late on average are none of ours to worry about. */
const tolerableLatenessMs = 6;
const latenessPerStretchMs = 12;
const mostStretch = 6;
const memory = 0.1;

/**
 * When the turns of this process poll. They share one timer: up to 16 turns wake up together, and more are spread over the time. With
 * more turns each polls less often; when wake-ups come late, because this process or the machine is busy, all of them do.
 */
export class PollPacer {
  readonly #clock: Clock;
  readonly #slots = new Map<number, Slot>();
  #turns = 0;
  #latenessMs = 0;
  /** The time at which the timer for the next turns wakes. A timer that an earlier poll replaced does nothing when it wakes. */
  #sleepsUntilMs = Number.POSITIVE_INFINITY;
  readonly #always = new AbortController().signal;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How often one turn may poll now, in ms from one question to the next. */
  get leastIntervalMs(): number {
    const excess = Math.max(0, this.#latenessMs - tolerableLatenessMs) / latenessPerStretchMs;
    const root = Math.sqrt(this.#turns);
    const few = Math.min(mostOfFewMs, perRootOfFewMs * root);
    return Math.max(few, perRootMs * root, perTurnMs * this.#turns) * Math.min(mostStretch, 1 + excess);
  }

  /** Counts a turn that runs, until the function that this gives is called. */
  enter(): () => void {
    this.#turns++;
    let left = false;
    return () => {
      if (!left) this.#turns--;
      left = true;
    };
  }

  /** Resolves when the next poll is due; rejects with the signal's reason when it aborts before. */
  untilDue(
    next: {
      /** Not before this: the server has to have room, too. */
      readonly notBeforeMs: number;
      readonly askedAtMs: number;
      /**
       * From one question to the next; up to a quarter more or, to share a wake-up, less. 0 asks as soon as the server has room, however
       * many turns run: it is the turn's last poll.
       */
      readonly intervalMs: number;
    },
    signal: AbortSignal,
  ): Promise<void> {
    if (next.intervalMs === 0) return this.#untilLast(next.notBeforeMs, signal);
    return waitFor<void>(signal, (wake) => {
      const intervalMs = Math.max(next.intervalMs, this.leastIntervalMs);
      const earliestMs = Math.max(next.notBeforeMs, this.#clock.monotonic());
      const dueMs = Math.max(earliestMs, next.askedAtMs + intervalMs);
      const togetherMs = this.#turns > fullWakeUp ? dueMs : Math.max(earliestMs, dueMs - intervalMs * spread);
      const slot = this.#slotAt(togetherMs, dueMs, dueMs + intervalMs * spread);
      slot.add(wake);
      this.#arm();
      return () => slot.delete(wake);
    });
  }

  /** The last poll of a turn is one call, so it shares no wake-up. */
  async #untilLast(dueMs: number, signal: AbortSignal): Promise<void> {
    const leftMs = dueMs - this.#clock.monotonic();
    if (leftMs > 0) await this.#clock.sleep(leftMs, signal);
    signal.throwIfAborted();
  }

  /**
   * The slot in this time with the most turns that is not full; if all are full, the one with the fewest. An empty slot before
   * `dueMs` is none.
   */
  #slotAt(fromMs: number, dueMs: number, toMs: number): Slot {
    const stepMs = this.#turns < manyTurns ? gridMs : 2 * gridMs;
    const fitness = (atMs: number) => {
      const turns = this.#slots.get(atMs)?.size ?? 0;
      return turns < fullWakeUp ? turns : -turns;
    };
    let bestMs = Math.ceil(dueMs / stepMs) * stepMs;
    for (let atMs = Math.ceil(fromMs / stepMs) * stepMs; atMs <= toMs; atMs += stepMs)
      if (fitness(atMs) > fitness(bestMs)) bestMs = atMs;
    let slot = this.#slots.get(bestMs);
    if (slot === undefined) {
      slot = new Set();
      this.#slots.set(bestMs, slot);
    }
    return slot;
  }

  /** Sees to it that the timer ends with the first slot that has turns in it. */
  #arm(): void {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const [atMs, slot] of this.#slots) {
      if (slot.size === 0) this.#slots.delete(atMs);
      else if (atMs < firstMs) firstMs = atMs;
    }
    if (firstMs < this.#sleepsUntilMs) this.#sleepUntil(firstMs);
  }

  #sleepUntil(atMs: number): void {
    this.#sleepsUntilMs = atMs;
    const wake = () => {
      if (this.#sleepsUntilMs === atMs) this.#fire(atMs);
    };
    void this.#clock.sleep(Math.max(0, atMs - this.#clock.monotonic()), this.#always).then(wake);
  }

  #fire(atMs: number): void {
    this.#sleepsUntilMs = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonic();
    this.#latenessMs += memory * (now - atMs - this.#latenessMs);
    const due: (() => void)[] = [];
    for (const [slotMs, slot] of this.#slots) {
      if (slotMs > now) continue;
      this.#slots.delete(slotMs);
      due.push(...slot);
    }
    for (const wake of due) wake();
    this.#arm();
  }
}
