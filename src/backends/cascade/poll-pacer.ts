import type { Clock } from "../../base/clock.ts";
import { waitFor } from "../../base/wait.ts";

/** When a turn wants its next poll. Monotonic ms. */
export interface NextPoll {
  /** Not before this: the server has to have room, too. */
  readonly notBeforeMs: number;
  readonly askedAtMs: number;
  /** From one question to the next, at least. 0 asks as soon as the server has room, however many turns run: it is the turn's last poll. */
  readonly intervalMs: number;
}

interface Slot {
  readonly atMs: number;
  readonly wakes: Set<() => void>;
}

/** Polls are due at multiples of this, so that turns wake up together. */
const gridMs = 4;
/** From so many turns on, at multiples of twice as much: half of the wake-ups, and of the commits that follow them. */
const manyTurns = 8;
/** Each poll may be this much later than it has to be, if fewer turns wake up then. */
const spread = 0.25;
/** What one turn of n waits at least is this times the root of n: 60 ms for 64 turns, 106 for 200. */
const perRootMs = 7.5;
/** Up to 44 turns wait longer, up to a limit: people notice no difference, and the processor does. 50 ms from 16 turns on. */
const perRootOfFewMs = 12.5;
const mostOfFewMs = 50;
/** Wake-ups that are this late on average are none of ours to worry about. */
const tolerableLatenessMs = 6;
const latenessPerStretchMs = 12;
const mostStretch = 6;
const memory = 0.1;

/**
 * When the turns of this process poll. They share one timer and are spread over it, so that a wake-up serves several turns and none
 * serves all. With more turns each polls less often; when wake-ups come late, because this process or the machine is busy,
 * all of them do.
 *
 * Source: docs/performance.md, "Pace".
 */
export class PollPacer {
  readonly #clock: Clock;
  readonly #slots = new Map<number, Slot>();
  #turns = 0;
  #latenessMs = 0;
  /** Until when the timer sleeps that wakes the next turns. One that an earlier poll replaced ends without a word. */
  #sleepsUntilMs = Number.POSITIVE_INFINITY;
  readonly #always = new AbortController().signal;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How often one turn may poll now, in ms from one question to the next. */
  get leastIntervalMs(): number {
    const excess = Math.max(0, this.#latenessMs - tolerableLatenessMs) / latenessPerStretchMs;
    const root = Math.sqrt(this.#turns);
    return Math.max(perRootMs * root, Math.min(mostOfFewMs, perRootOfFewMs * root)) * Math.min(mostStretch, 1 + excess);
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
  async untilDue(next: NextPoll, signal: AbortSignal): Promise<void> {
    if (next.intervalMs === 0) return this.#untilLast(next.notBeforeMs, signal);
    await waitFor<void>(signal, (wake) => {
      const intervalMs = Math.max(next.intervalMs, this.leastIntervalMs);
      const dueMs = Math.max(next.notBeforeMs, next.askedAtMs + intervalMs, this.#clock.monotonic());
      const slot = this.#slotAt(dueMs, dueMs + intervalMs * spread);
      slot.wakes.add(wake);
      this.#arm();
      return () => slot.wakes.delete(wake);
    });
  }

  /** The last poll of a turn is one call, so it shares no wake-up. */
  async #untilLast(dueMs: number, signal: AbortSignal): Promise<void> {
    const leftMs = dueMs - this.#clock.monotonic();
    if (leftMs > 0) await this.#clock.sleep(leftMs, signal);
    signal.throwIfAborted();
  }

  /** The slot with the fewest turns in this time, the first of them if there are several. */
  #slotAt(fromMs: number, toMs: number): Slot {
    const step = this.#turns < manyTurns ? 1 : 2;
    let best = Math.ceil(fromMs / gridMs / step) * step;
    let fewest = this.#slots.get(best)?.wakes.size ?? 0;
    for (let at = best + step; fewest > 0 && at * gridMs <= toMs; at += step) {
      const turns = this.#slots.get(at)?.wakes.size ?? 0;
      if (turns < fewest) [best, fewest] = [at, turns];
    }
    let slot = this.#slots.get(best);
    if (slot === undefined) {
      slot = { atMs: best * gridMs, wakes: new Set() };
      this.#slots.set(best, slot);
    }
    return slot;
  }

  /** Sees to it that the timer ends with the first slot that has turns in it. */
  #arm(): void {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const [at, slot] of this.#slots) {
      if (slot.wakes.size === 0) this.#slots.delete(at);
      else if (slot.atMs < firstMs) firstMs = slot.atMs;
    }
    if (firstMs < this.#sleepsUntilMs) void this.#sleepUntil(firstMs);
  }

  async #sleepUntil(atMs: number): Promise<void> {
    this.#sleepsUntilMs = atMs;
    await this.#clock.sleep(Math.max(0, atMs - this.#clock.monotonic()), this.#always);
    if (this.#sleepsUntilMs === atMs) this.#fire(atMs);
  }

  #fire(atMs: number): void {
    this.#sleepsUntilMs = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonic();
    this.#latenessMs += memory * (now - atMs - this.#latenessMs);
    const due: (() => void)[] = [];
    for (const [at, slot] of this.#slots) {
      if (slot.atMs > now) continue;
      this.#slots.delete(at);
      due.push(...slot.wakes);
    }
    for (const wake of due) wake();
    this.#arm();
  }
}
