import { type ErrorRecord, type ErrorRow, isLimit, MillraceError, rowOf } from "../base/errors.ts";
import type { TurnEventBody } from "../log/event.ts";
import type { EventStage } from "./event-stage.ts";

/** Whether the client received a part of the answer before it failed. */
export type AnswerReach = "nothing" | "a_part";

const second = 1000;

/** How long failures of one body count together: after that, the next failure is the first again; ms. */
export const seriesMs = 15 * 60 * second;

const early = [30, 60, 120, 300].map((s) => s * second);
const late = [60, 120, 300].map((s) => s * second);

/** How many prompts may follow a failure at once, and after each further one how long none may follow; ms. The last wait stays. */
interface Rule {
  readonly atOnce: 0 | 1;
  readonly waitsMs: readonly number[];
}

/**
 * The prompts that may follow a failed turn when the same caller sends the same body again without a key. Which rule holds for an
 * error is in the table of errors. Checked cell by cell against docs/dev/turn-machine.md.
 *
 * A refusal (`quota_exhausted`, `rate_limited`, plan, policy) will not change at once, so it gets no prompt at once. A failure that a
 * restart or a login may solve gets one prompt at once.
 */
const repeatRules: Readonly<Record<"at_once" | (ErrorRow["prompt"] & string), Readonly<Record<AnswerReach, Rule>>>> = {
  at_once: { nothing: { atOnce: 1, waitsMs: early }, a_part: { atOnce: 1, waitsMs: late } },
  after_a_wait: { nothing: { atOnce: 0, waitsMs: early }, a_part: { atOnce: 0, waitsMs: late } },
  after_a_long_wait: { nothing: { atOnce: 0, waitsMs: late }, a_part: { atOnce: 0, waitsMs: late } },
};

/** How a body came: as a request, or as a message of a client's stream. */
export type RepeatSource = "request" | "late_request" | "stream";

/** The failed turns of one body since its last whole answer. */
export interface FailedSeries {
  readonly error: ErrorRecord;
  readonly reached: AnswerReach;
  /** When the newest turn failed, epoch ms. */
  readonly atMs: number;
  /** How many prompts of this body have failed, or run now, since the first failure. */
  readonly prompts: number;
}

/** The answer to a repeated body: a new prompt, or the same failure until `untilMs` (epoch ms). */
export type Repeat = { readonly type: "prompt" } | { readonly type: "tell"; readonly untilMs: number };

/** Applies the table. Pure. A known reset ends the wait earlier, and so does the wait that the first refusal named. */
export function repeatOf(series: FailedSeries, nowMs: number): Repeat {
  const { atOnce, waitsMs } = repeatRules[rowOf(series.error).prompt ?? "at_once"][series.reached];
  const spent = series.prompts - atOnce;
  if (spent <= 0) return { type: "prompt" };
  const ruledMs = waitsMs[Math.min(spent, waitsMs.length) - 1] ?? 0;
  const { resetsAtMs = Number.POSITIVE_INFINITY, retryAfterMs = ruledMs } = series.error;
  const waitMs = spent === 1 ? Math.min(ruledMs, retryAfterMs) : ruledMs;
  const untilMs = Math.min(series.atMs + waitMs, resetsAtMs);
  return nowMs >= untilMs ? { type: "prompt" } : { type: "tell", untilMs };
}

/**
 * A failure of a body that failed before. If no prompt may follow now, the failure is marked as final, because a client that retries a
 * 5xx would get the same failure seconds later. A refusal for a limit stays unchanged: its status already contains the wait.
 */
export function failedAgain(
  error: ErrorRecord,
  earlier: FailedSeries,
  reached: AnswerReach,
  nowMs: number,
): ErrorRecord {
  if (isLimit(error)) return error;
  const repeat = repeatOf({ error, reached, atMs: nowMs, prompts: earlier.prompts + 1 }, nowMs);
  if (repeat.type === "prompt") return error;
  const left = Math.ceil((repeat.untilMs - nowMs) / second);
  const hint = `The same request failed before. Millrace sends it again after ${left} s, or now with a new Idempotency-Key.`;
  return { ...error, hint, final: true };
}

/** How long the same body without a key gets its first failure again; whole seconds, 0 where it becomes a prompt at once. */
export function waitAfterFirst(error: ErrorRecord): number {
  const repeat = repeatOf({ error, reached: "nothing", atMs: 0, prompts: 1 }, 0);
  return repeat.type === "prompt" ? 0 : Math.ceil(repeat.untilMs / second);
}

/** The same failure once more: `repeated` makes every API answer it with a status on which clients stop. */
export function toldAgain(
  { error, atMs }: FailedSeries,
  untilMs: number,
  nowMs: number,
  asked: RepeatSource = "request",
): MillraceError {
  const ago = Math.max(0, Math.round((nowMs - atMs) / second));
  const left = Math.max(1, Math.ceil((untilMs - nowMs) / second));
  const atOnce = asked === "stream" ? "" : ", or now with a new Idempotency-Key";
  const since = `The same request failed ${ago} s ago, so Millrace did not send it again.`;
  // A quota resets in hours or days: its own hint says when, and what helps meanwhile.
  const again =
    error.code === "quota_exhausted" ? `${error.hint} ${since}` : `${since} Send it after ${left} s${atOnce}.`;
  return MillraceError.fromRecord({
    ...error,
    hint: again, // the hint of the failure often says "try again"
    ...(error.code === "rate_limited" ? { retryAfterMs: untilMs - nowMs } : {}),
    repeated: true,
  });
}

/** How many bodies are remembered at once. */
const mostBodies = 1_000;

interface FailedBody {
  error: ErrorRecord | undefined;
  reached: AnswerReach;
  atMs: number;
  prompts: number;
}

/** The failed turns of each body, in memory: a restart forgets them. A body is named by a digest of its caller and content. */
export class BackOff {
  readonly #now: () => number;
  readonly #bodies = new Map<string, FailedBody>();

  /** `now`: epoch ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Throws the last failure of the body again where no prompt may follow it yet. Returns the failures so far. A `late_request` comes
   * from a client that repeats each failure in the middle of an answer without its user: its first repeat gets no prompt.
   */
  check(body: string, source: RepeatSource): FailedSeries | undefined {
    const known = this.#recordOf(body);
    if (known?.error === undefined) return undefined;
    const { error, reached, atMs, prompts } = known;
    const isLate = source === "late_request" && reached === "a_part";
    const series = { error, reached, atMs, prompts: isLate ? prompts + 1 : prompts };
    const nowMs = this.#now();
    const repeat = repeatOf(series, nowMs);
    if (repeat.type === "tell") throw toldAgain(series, repeat.untilMs, nowMs, source);
    return series;
  }

  /**
   * Counts a turn that begins, and looks at its events on their way into its log. `earlier`: what `check` returned, for a request; its
   * further failure is then marked as final where no prompt may follow it now.
   */
  watch(body: string, earlier?: FailedSeries): EventStage {
    const known = this.#recordOf(body) ?? { error: undefined, reached: "nothing" as const, atMs: 0, prompts: 0 };
    known.prompts += 1;
    this.#keep(body, known);
    let reached: AnswerReach = "nothing";
    return {
      push: (event) => {
        if (isPart(event)) reached = "a_part";
        if (event.type === "cancelled") known.prompts -= 1;
        if (event.type === "finished") this.#bodies.delete(body);
        if (event.type !== "failed") return [event];
        const nowMs = this.#now();
        Object.assign(known, { error: event.error, reached, atMs: nowMs });
        this.#keep(body, known); // another turn of this body may have finished meanwhile
        return earlier === undefined
          ? [event]
          : [{ ...event, error: failedAgain(event.error, earlier, reached, nowMs) }];
      },
    };
  }

  #keep(body: string, known: FailedBody): void {
    this.#bodies.delete(body);
    this.#bodies.set(body, known); // the newest is last
    const [oldest] = this.#bodies.keys();
    if (this.#bodies.size > mostBodies && oldest !== undefined) this.#bodies.delete(oldest);
  }

  #recordOf(body: string) {
    const known = this.#bodies.get(body);
    if (known?.error === undefined || known.atMs + seriesMs > this.#now()) return known;
    this.#bodies.delete(body);
    return undefined;
  }
}

/** Whether the client sees a part of the answer in the event. */
function isPart({ type }: TurnEventBody): boolean {
  return type === "text" || type === "thinking" || type === "tool_call" || type === "rewritten";
}
