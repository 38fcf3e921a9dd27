import { createHash } from "node:crypto";
import type { Clock } from "../../../base/clock.ts";
import type { StreamName } from "../../../log/client-stream.ts";

export interface OrderTiming {
  /** How long an attach waits for an earlier one to leave, before it takes the stream over; ms. */
  readonly waitMs: number;
  /** The number of parts of that wait: after each part, the sockets' news is known. */
  readonly looks: number;
}

export const defaultOrder: OrderTiming = { waitMs: 250, looks: 5 };

/** One attach among those of its stream. */
export interface AttachPlace {
  /**
   * Resolves once this attach may take the stream over: true when all earlier attaches have left, false when the total wait is
   * over. It does not wait for attaches of the same client life, which a client names if it counts its attaches: the log orders
   * those. Rejects with the signal's reason.
   */
  untilFree(signal: AbortSignal): Promise<boolean>;
  /** It takes the stream over now. Earlier attaches that have not taken it are overtaken. */
  take(): void;
  /** Whether a later attach has taken the stream over. */
  readonly isOvertaken: boolean;
  /** Lets later attaches pass: its client has left, or it is over. */
  letPass(): void;
  close(): void;
}

interface Waiting {
  readonly number: number;
  readonly life: string | undefined;
  /** Aborts when no other attach has to wait for it. */
  readonly passed: AbortController;
  /** How often it has looked whether those before it have left. */
  looked: number;
}

interface Stream {
  readonly here: Set<Waiting>;
  came: number;
  /** The latest that took the stream over. */
  taken: number;
}

/**
 * Makes an attach wait a moment while another attach has its stream. The attach of a broken connection may be handled after the
 * client's next attach. If its client does not count attaches, nothing marks it as the older one. But after the wait the gateway
 * knows that its connection is closed. For counted attaches the log knows the order (`StreamStore.attachStream`). In this process only.
 */
export class AttachOrder {
  readonly #clock: Clock;
  readonly #timing: OrderTiming;
  readonly #streams = new Map<string, Stream>();

  constructor(clock: Clock, timing: OrderTiming = defaultOrder) {
    this.#clock = clock;
    this.#timing = timing;
  }

  /** The attach is there now: all that came earlier and have not left are before it. `life`: of a client that counts its attaches. */
  come(name: StreamName, life: string | undefined): AttachPlace {
    const key = streamKeyOf(name);
    const stream = this.#streams.get(key) ?? { here: new Set(), came: 0, taken: 0 };
    this.#streams.set(key, stream);
    const before = [...stream.here].filter((other) => other.life === undefined || other.life !== life);
    const self: Waiting = { number: ++stream.came, life, passed: new AbortController(), looked: 0 };
    stream.here.add(self);
    return {
      untilFree: (signal) => this.#untilPassed(self, before, signal),
      take: () => void (stream.taken = Math.max(stream.taken, self.number)),
      get isOvertaken() {
        return stream.taken > self.number;
      },
      letPass: () => self.passed.abort(),
      close: () => {
        self.passed.abort();
        stream.here.delete(self);
        if (stream.here.size === 0 && this.#streams.get(key) === stream) this.#streams.delete(key);
      },
    };
  }

  /** Waits for those to leave, as long as that may take. */
  async #untilPassed(self: Waiting, those: readonly Waiting[], signal: AbortSignal): Promise<boolean> {
    const { waitMs, looks } = this.#timing;
    signal.throwIfAborted();
    for (const { passed } of those) {
      while (!passed.signal.aborted && self.looked < looks) {
        const hasSlept = await this.#clock.sleep(waitMs / looks, AbortSignal.any([passed.signal, signal])).then(
          () => true,
          () => false, // it has left, or the wait was given up
        );
        signal.throwIfAborted();
        if (hasSlept) self.looked++;
      }
    }
    return those.every(({ passed }) => passed.signal.aborted);
  }
}

function streamKeyOf({ caller, name, clientKey }: StreamName): string {
  const parts = JSON.stringify([caller, name, clientKey?.reveal() ?? ""]);
  return createHash("sha256").update(parts).digest("base64url");
}
