import type { Clock } from "../base/clock.ts";
import { type ErrorRecord, MillraceError } from "../base/errors.ts";
import type { ModelUid } from "../base/ids.ts";
import type { Step } from "./step.ts";

/** How long a refusal is told again instead of asking anew; also the longest wait that is announced to clients. */
const rememberMs = 60_000;

interface Refusal {
  readonly error: ErrorRecord;
  readonly atMs: number;
  readonly untilMs: number;
}

/**
 * What the account was refused a moment ago. Many clients repeat a refused request on their own, whatever the answer says;
 * what they send in the next minute (or until the limit resets, if that is sooner) is refused here, and the server is left
 * alone. Kept by model: another one may still be included. A model that answers is no longer refused. Source: design.md,
 * decision 7; client-contract row 57.
 */
export class Refusals {
  readonly #clock: Clock;
  readonly #byModel = new Map<ModelUid, Refusal>();

  constructor(clock: Clock) {
    this.#clock = clock;
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

  /** Looks at a turn's events on their way into its log. */
  watch(model: ModelUid): Step {
    return {
      push: (event) => {
        if (event.type === "failed") this.#note(model, event.error);
        if (event.type === "finished") this.#byModel.delete(model);
        return [event];
      },
    };
  }

  #note(model: ModelUid, error: ErrorRecord): void {
    if (error.code !== "quota_exhausted" && error.code !== "rate_limited") return;
    const atMs = this.#clock.now();
    const lastsMs = error.code === "quota_exhausted" ? rememberMs : Math.min(error.retryAfterMs ?? 0, rememberMs);
    this.#byModel.set(model, { error, atMs, untilMs: Math.min(atMs + lastsMs, error.resetsAtMs ?? Infinity) });
  }
}
