import { bestEffort } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";

interface ParkedPrompt {
  readonly isWaiting: (callId: string) => boolean;
  readonly cancel: () => Promise<void>;
  readonly over: AbortController;
}

/** How many prompts of an agent may wait for results, and for how long; the oldest is cancelled for a further one. */
const mostParked = 16;
const defaultParkedMs = 10 * 60_000;

/** The prompts of one agent that wait for a client's results. */
export class ParkedPrompts {
  readonly #clock: Clock;
  readonly #parkedMs: number;
  readonly #parked = new Map<string, ParkedPrompt>();

  constructor(clock: Clock, parkedMs = defaultParkedMs) {
    this.#clock = clock;
    this.#parkedMs = parkedMs;
  }

  /** From now on the prompt of this session waits. `cancel` ends it, and may fail. */
  park(sessionId: string, { isWaiting, cancel }: Pick<ParkedPrompt, "isWaiting" | "cancel">): void {
    this.goOn(sessionId);
    const over = new AbortController();
    this.#parked.set(sessionId, { isWaiting, cancel, over });
    const tooLong = this.#clock.sleep(this.#parkedMs, over.signal).then(() => this.#cancel(sessionId));
    void bestEffort(tooLong);
    const [oldest] = this.#parked.keys();
    if (this.#parked.size > mostParked && oldest !== undefined) void bestEffort(this.#cancel(oldest));
  }

  /** A turn has the session, or it is gone. */
  goOn(sessionId: string): void {
    this.#parked.get(sessionId)?.over.abort();
    this.#parked.delete(sessionId);
  }

  /** Cancels the prompts that wait for any of these calls: the client asked in another way. */
  supersede(callIds: readonly string[]): void {
    for (const [sessionId, { isWaiting }] of this.#parked)
      if (callIds.some(isWaiting)) void bestEffort(this.#cancel(sessionId));
  }

  close(): void {
    for (const sessionId of this.#parked.keys()) this.goOn(sessionId);
  }

  async #cancel(sessionId: string): Promise<void> {
    const parked = this.#parked.get(sessionId);
    this.goOn(sessionId);
    await parked?.cancel();
  }
}
