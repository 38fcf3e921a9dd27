import type { Clock } from "../../base/clock.ts";
import { type ErrorRecord, MillraceError } from "../../base/errors.ts";
import type { ModelUid } from "../../base/ids.ts";
import type { Step } from "../run/step.ts";

/** How long a refusal is told again instead of asking anew; also the longest wait that is announced to clients. */
const rememberMs = 60_000;
/** The wait after a rate limit or high demand that names none; ms. */
const unnamedWaitMs = 30_000;

interface Refusal {
  readonly error: ErrorRecord;
  readonly atMs: number;
  readonly untilMs: number;
}

/**
 * What the account was refused a moment ago. Many clients repeat a refused request by themselves. For the wait that was
 * named, 60 seconds at most, Millrace repeats the refusal and does not ask the server. Kept by model: another model may
 * still be included. A model that answers is no longer refused. Source: docs/retries.md.
 */
export class Refusals {
  readonly #clock: Clock;
  readonly #resetOf: (model: ModelUid) => number | undefined;
  readonly #byModel = new Map<ModelUid, Refusal>();

  /** `resetOf`: when the quota of a model resets, epoch ms, for refusals that do not say it. */
  constructor(clock: Clock, resetOf: (model: ModelUid) => number | undefined = () => undefined) {
    this.#clock = clock;
    this.#resetOf = resetOf;
  }

  /** Throws `quota_exhausted` or `rate_limited`, marked as repeated, while a refusal of this model is remembered. */
  check(model: ModelUid): void {
    const refusal = this.#byModel.get(model);
    if (refusal === undefined) return;
    const nowMs = this.#clock.now();
    const leftMs = refusal.untilMs - nowMs;
    if (leftMs <= 0) {
      this.#byModel.delete(model);
      return;
    }
    const { code, message, hint, resetsAtMs } = refusal.error;
    const ago = Math.round((nowMs - refusal.atMs) / 1000);
    const left = Math.ceil(leftMs / 1000);
    throw new MillraceError(code, message, {
      hint: `${hint} That was the answer ${ago} s ago; the IDE's server is not asked again for ${left} s.`,
      ...(code === "rate_limited" ? { retryAfterMs: leftMs } : {}),
      ...(resetsAtMs === undefined ? {} : { resetsAtMs: Math.ceil(resetsAtMs / 1000) * 1000 }),
      repeated: true,
    });
  }

  /** Looks at a turn's events on their way into its log, and completes a refusal: the wait, the reset. */
  watch(model: ModelUid): Step {
    return {
      push: (event) => {
        if (event.type === "finished") this.#byModel.delete(model);
        if (event.type !== "failed") return [event];
        const error = this.#completed(model, event.error);
        this.#note(model, error);
        return [{ ...event, error }];
      },
    };
  }

  #completed(model: ModelUid, error: ErrorRecord): ErrorRecord {
    if (error.code === "rate_limited") return { retryAfterMs: unnamedWaitMs, ...error };
    if (error.code !== "quota_exhausted" || error.resetsAtMs !== undefined) return error;
    const resetsAtMs = this.#resetOf(model);
    return resetsAtMs === undefined ? error : { ...error, resetsAtMs };
  }

  #note(model: ModelUid, error: ErrorRecord): void {
    if (error.code !== "quota_exhausted" && error.code !== "rate_limited") return;
    const atMs = this.#clock.now();
    const lastsMs = Math.min(error.retryAfterMs ?? rememberMs, rememberMs);
    this.#byModel.set(model, { error, atMs, untilMs: Math.min(atMs + lastsMs, error.resetsAtMs ?? Infinity) });
  }
}
