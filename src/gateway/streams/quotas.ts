import type { Clock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import { refusal } from "../dialects/idempotent/errors.ts";

/** The limits of one caller's use of the streaming protocol. Another caller's use does not count. */
export interface StreamQuotas {
  /** Attaches open at once, of writers and observers. */
  readonly openStreams: number;
  /** Attaches in a minute. */
  readonly attachesPerMinute: number;
  /** Bytes of messages accepted within `retainedMs`: the space of its streams in the log, without the answers. */
  readonly retainedBytes: number;
  readonly retainedMs: number;
}

const minuteMs = 60_000;

/** Enough for hundreds of streams that all reconnect after a restart, and far more than one honest client needs. */
export const defaultQuotas: StreamQuotas = {
  openStreams: 256,
  attachesPerMinute: 1_200,
  retainedBytes: 1024 * 1024 * 1024,
  retainedMs: 2 * 60 * minuteMs,
};

interface CallerUse {
  open: number;
  /** Attaches that are still allowed at once, and when that was counted. */
  attaches: number;
  countedAtMs: number;
  /** Bytes by the minute they came in. */
  readonly bytes: Map<number, number>;
}

/** Counts each caller's use, in this process since it started. Callers are keys of the gateway, so there are few. */
export class Quotas {
  readonly #clock: Clock;
  readonly #quotas: StreamQuotas;
  readonly #callers = new Map<string, CallerUse>();

  constructor(clock: Clock, quotas: StreamQuotas) {
    this.#clock = clock;
    this.#quotas = quotas;
  }

  /**
   * An attach; the answered function ends it.
   *
   * @throws MillraceError `rate_limited`: plain with how long to wait, or with reason `too_many_streams`.
   */
  attach(caller: string): () => void {
    const use = this.#useOf(caller);
    const { openStreams, attachesPerMinute } = this.#quotas;
    const nowMs = this.#clock.monotonic();
    const regained = ((nowMs - use.countedAtMs) * attachesPerMinute) / minuteMs;
    use.attaches = Math.min(attachesPerMinute, use.attaches + regained);
    use.countedAtMs = nowMs;
    if (use.attaches < 1) {
      const retryAfterMs = Math.ceil(((1 - use.attaches) * minuteMs) / attachesPerMinute);
      throw new MillraceError("rate_limited", `More than ${attachesPerMinute} attaches in a minute.`, { retryAfterMs });
    }
    if (use.open >= openStreams) {
      const message = `${openStreams} streams of this key are open.`;
      throw refusal("rate_limited", "too_many_streams", message, {
        hint: "Close one, then attach.",
        retryAfterMs: minuteMs,
      });
    }
    use.attaches -= 1;
    use.open += 1;
    let isOpen = true;
    return () => {
      if (isOpen) use.open -= 1;
      isOpen = false;
    };
  }

  /** A message that is about to be stored. Throws `rate_limited` with reason `too_many_bytes`. */
  keep(caller: string, bytes: number): void {
    const use = this.#useOf(caller);
    const { retainedBytes, retainedMs } = this.#quotas;
    const minute = Math.floor(this.#clock.monotonic() / minuteMs);
    const oldest = minute - Math.ceil(retainedMs / minuteMs);
    let kept = 0;
    for (const [at, count] of use.bytes) {
      if (at < oldest) use.bytes.delete(at);
      else kept += count;
    }
    if (kept + bytes > retainedBytes) {
      const message = `The streams of this key keep ${kept} bytes of messages; ${retainedBytes} are the most.`;
      throw refusal("rate_limited", "too_many_bytes", message, {
        hint: "Wait until older streams have expired.",
        retryAfterMs: minuteMs,
      });
    }
    use.bytes.set(minute, (use.bytes.get(minute) ?? 0) + bytes);
  }

  #useOf(caller: string): CallerUse {
    const known = this.#callers.get(caller);
    if (known !== undefined) return known;
    const countedAtMs = this.#clock.monotonic();
    const use: CallerUse = { open: 0, attaches: this.#quotas.attachesPerMinute, countedAtMs, bytes: new Map() };
    this.#callers.set(caller, use);
    return use;
  }
}
