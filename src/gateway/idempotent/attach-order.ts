import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { StreamName } from "../../log/client-stream.ts";

export interface OrderTiming {
  /** How long an attach waits for one that is there to leave, before it takes the stream over; ms. */
  readonly waitMs: number;
  /** In how many parts: after each, what the sockets brought meanwhile is known. */
  readonly looks: number;
}

export const defaultOrder: OrderTiming = { waitMs: 250, looks: 5 };

interface Here {
  readonly life: string | undefined;
  /** Aborts when it has left. */
  readonly left: AbortSignal;
}

/**
 * Has an attach wait a moment where another one has its stream. A connection that was cut may be worked on after its client's next
 * one, and where its client does not count its attaches nothing in it says that it is the older: but it is gone by then, since its
 * own connection is. Of attaches that are counted the log knows which is the older (`StreamStore.attachStream`). In this
 * process only.
 */
export class AttachOrder {
  readonly #clock: Clock;
  readonly #timing: OrderTiming;
  /** By stream: attaches that came and have not left, in the order in which they came. */
  readonly #here = new Map<string, Set<Here>>();

  constructor(clock: Clock, timing: OrderTiming = defaultOrder) {
    this.#clock = clock;
    this.#timing = timing;
  }

  /**
   * Resolves once this attach may take the stream over; the answered function says that it has left. It waits for nobody of its own
   * life, which a client that counts its attaches names: that is the log's to decide.
   *
   * Throws the signal's reason when its connection is gone.
   */
  async enter(name: StreamName, life: string | undefined, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const key = keyOf(name);
    const here = this.#here.get(key) ?? new Set();
    this.#here.set(key, here);
    const before = [...here].filter((other) => other.life === undefined || other.life !== life);
    const left = new AbortController();
    const self: Here = { life, left: left.signal };
    here.add(self);
    const leave = () => {
      here.delete(self);
      if (here.size === 0 && this.#here.get(key) === here) this.#here.delete(key);
      left.abort();
    };
    try {
      await this.#untilGone(before, signal);
      signal.throwIfAborted(); // who has left again takes nothing over from who came back
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Waits for those to leave, as long as that may take. */
  async #untilGone(those: readonly Here[], signal: AbortSignal): Promise<void> {
    const { waitMs, looks } = this.#timing;
    let looked = 0;
    for (const { left } of those) {
      while (!left.aborted && looked < looks) {
        const hasSlept = await this.#clock.sleep(waitMs / looks, AbortSignal.any([left, signal])).then(
          () => true,
          () => false, // it has left, or nobody waits any more
        );
        signal.throwIfAborted();
        if (hasSlept) looked++;
      }
    }
  }
}

function keyOf({ caller, name, clientKey }: StreamName): string {
  const parts = JSON.stringify([caller, name, clientKey?.reveal() ?? ""]);
  return createHash("sha256").update(parts).digest("base64url");
}
