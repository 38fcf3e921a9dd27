import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { MillraceError } from "../../base/errors.ts";
import type { StreamName } from "../../log/client-stream.ts";
import { refusal } from "../dialects/idempotent/errors.ts";

/** Which attach this is of one life of a client: it counts them, and makes one at a time. */
export interface AttachNumber {
  /** Names the client's process, or window, as long as that lives. */
  readonly life: string;
  readonly number: number;
}

export interface OrderTiming {
  /** How long an attach waits for one that is there to leave, before it takes the stream over; ms. */
  readonly waitMs: number;
  /** In how many parts: after each, what the sockets brought meanwhile is known. */
  readonly looks: number;
}

export const defaultOrder: OrderTiming = { waitMs: 250, looks: 5 };

/** Streams whose numbers are remembered at most; the oldest are forgotten first. */
const mostRemembered = 1024;

interface Here {
  readonly life: string | undefined;
  /** Aborts when it has left. */
  readonly left: AbortSignal;
}

interface Line {
  /** The newest attach that came, as its client counts. */
  newest: AttachNumber | undefined;
  /** Attaches that came and have not left, in the order in which they came. */
  readonly here: Set<Here>;
}

/**
 * Sees to it that an attach which is worked on late takes no stream from the one that followed it. A connection that was
 * cut may be worked on after its client's next one, and nothing in it says that it is the older. Where the client numbers its
 * attaches, the number says so; where it does not, an attach that finds another one there waits a moment first: what is late
 * is gone by then, since its own connection is. In this process only; across processes the epochs of the log decide.
 */
export class AttachOrder {
  readonly #clock: Clock;
  readonly #timing: OrderTiming;
  readonly #lines = new Map<string, Line>();

  constructor(clock: Clock, timing: OrderTiming = defaultOrder) {
    this.#clock = clock;
    this.#timing = timing;
  }

  /**
   * Resolves once this attach may take the stream over; the answered function says that it has left.
   *
   * @throws MillraceError `cancelled` with reason `superseded` where a later one of the same life has come; the signal's
   * reason when its connection is gone.
   */
  async enter(name: StreamName, number: AttachNumber | undefined, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const line = this.#lineOf(name);
    if (isLate(line, number)) throw superseded();
    line.newest = number ?? line.newest;
    const before = [...line.here].filter(({ life }) => life === undefined || life !== number?.life);
    const left = new AbortController();
    const self: Here = { life: number?.life, left: left.signal };
    line.here.add(self);
    const leave = () => {
      line.here.delete(self);
      left.abort();
    };
    try {
      await this.#untilGone(before, signal);
      signal.throwIfAborted(); // who has left again takes nothing over from who came back
      if (isLate(line, number)) throw superseded();
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

  #lineOf({ caller, name, clientKey }: StreamName): Line {
    const parts = JSON.stringify([caller, name, clientKey?.reveal() ?? ""]);
    const key = createHash("sha256").update(parts).digest("base64url");
    const line = this.#lines.get(key) ?? { newest: undefined, here: new Set() };
    this.#lines.delete(key);
    this.#lines.set(key, line);
    for (const [oldest, { here }] of this.#lines) {
      if (this.#lines.size <= mostRemembered) break;
      if (here.size === 0) this.#lines.delete(oldest);
    }
    return line;
  }
}

function isLate({ newest }: Line, number: AttachNumber | undefined): boolean {
  return number !== undefined && newest?.life === number.life && number.number < newest.number;
}

/** A newer attach writes to the stream. */
export function superseded(): MillraceError {
  return refusal(
    "cancelled",
    "superseded",
    "A newer connection has taken this stream over.",
    "Go on there; this connection can only read.",
  );
}
