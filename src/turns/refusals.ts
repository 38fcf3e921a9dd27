import { agentOfModel } from "../backends/backend.ts";
import { bestEffort, deadline } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import { type ErrorRecord, isLimit, MillraceError } from "../base/errors.ts";
import type { ModelUid } from "../base/ids.ts";
import type { TerminalEvent } from "../log/event.ts";
import { readAll } from "../log/read-turn.ts";
import type { LogStore } from "../log/store.ts";
import type { EventStage } from "./event-stage.ts";

/** How long a refusal is repeated without a new prompt, if the end of its limit is unknown. */
const rememberMs = 60_000;
/** The wait after a rate limit or high demand that names none; ms. */
const unnamedWaitMs = 30_000;
/** A limit that the server reported is checked again no sooner than this: it may have ended early. */
const lookAgainMs = 5_000;
/** How many of the newest turns are looked through for refusals at the start. */
const mostEarlier = 50;
/** How long a request waits while the server is asked about a limit; ms. */
const lookMs = 2_000;

/** The server's answer to the question whether a model may be asked now. */
export interface ModelLimit {
  readonly hasCapacity: boolean;
  readonly resetsInMs: number | undefined;
}

export interface RefusalsOptions {
  readonly clock: Clock;
  /** When a window of the IDE's quota resets, epoch ms, for refusals that do not contain it; undefined as window: any window. */
  readonly resetOf?: ((window: "daily" | "weekly" | undefined) => number | undefined) | undefined;
  /**
   * What helps once a quota is used up: when it resets, models that still answer. `ofAgent`: the configured agent whose own plan it is;
   * undefined for the IDE's. Answers undefined where nothing is known.
   */
  readonly adviceOf?:
    | ((
        quota: { readonly resetsAtMs: number | undefined; readonly ofAgent: string | undefined },
        isRefused: (model: ModelUid) => boolean,
      ) => string | undefined)
    | undefined;
  /** Asks the IDE's server for a model's limit, without a prompt; undefined where it does not say. */
  readonly limitOf?: ((model: ModelUid, signal: AbortSignal) => Promise<ModelLimit | undefined>) | undefined;
}

/** A model that a limit keeps from being asked, and until when as far as is known; epoch ms. */
export interface BlockedModel {
  readonly model: ModelUid;
  readonly code: ErrorRecord["code"];
  readonly sinceMs: number;
  readonly untilMs: number;
}

interface Refusal {
  readonly error: ErrorRecord;
  readonly atMs: number;
  readonly untilMs: number;
  /** When the server last reported this limit, epoch ms; undefined if the server does not know of it. */
  readonly toldAtMs: number | undefined;
}

/**
 * The limits that refused this account a moment ago. Many clients retry a refused request on their own. Until the limit ends,
 * Millrace repeats the refusal and sends no prompt. If the server reports the limit, its report says when it ends, and the server
 * is asked again. Otherwise the refusal counts for the wait that it named, 60 seconds at most. Kept by model, because another
 * model may still be included. A model that answers is no longer refused. A configured agent has a plan of its own, of which the IDE
 * knows nothing. Source: docs/dev/turn-machine.md.
 */
export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #byModel = new Map<ModelUid, Refusal>();
  readonly #looks = new Map<ModelUid, Promise<ModelLimit | undefined>>();
  /** Limits that the server reported while a refused turn ended. */
  readonly #told = new Map<ModelUid, ModelLimit>();
  #recalled: Promise<unknown> | undefined;

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  /** The limits that hold now. One whose reset is known counts until then, although a request may ask the model again sooner. */
  get blocked(): readonly BlockedModel[] {
    const nowMs = this.#options.clock.now();
    return [...this.#byModel]
      .map(([model, { error, atMs, untilMs }]) => ({
        model,
        code: error.code,
        sinceMs: atMs,
        untilMs: error.resetsAtMs ?? untilMs,
      }))
      .filter(({ untilMs }) => untilMs > nowMs);
  }

  /** Learns the refusals that an earlier gateway of this home got, from its turns. `check` waits for that. Never rejects. */
  recall(store: LogStore, owner: string): Promise<unknown> {
    return (this.#recalled = bestEffort(this.#readEarlier(store, owner)));
  }

  async #readEarlier(store: LogStore, owner: string): Promise<void> {
    const seen = new Set<string>();
    for (const { turnId, modelUid, outline, outcome, owner: its } of await store.list({ limit: mostEarlier })) {
      const end = outline?.at(-1);
      if (seen.has(modelUid) || !store.isEarlier(its, owner) || outcome === "cancelled" || end === undefined) continue;
      seen.add(modelUid);
      if (end.type !== "failed" || !isLimit(end)) continue;
      const failed = await readAll(store, turnId).then(
        (events) => events.at(-1),
        () => undefined,
      ); // its client may have sealed it
      if (failed?.type !== "failed") continue;
      const refusal = refusalOf(failed.error, failed.atMs);
      // Only the server knows whether a limit with a reset still holds.
      const toldAtMs = failed.error.resetsAtMs === undefined ? undefined : failed.atMs;
      this.#byModel.set(modelUid as ModelUid, { ...refusal, toldAtMs }); // as it was stored
    }
  }

  /** Throws `quota_exhausted` or `rate_limited`, marked as repeated, while a refusal of this model is remembered. */
  async check(model: ModelUid): Promise<void> {
    await this.#recalled;
    const refusal = await this.#current(model);
    if (refusal === undefined) return;
    const nowMs = this.#options.clock.now();
    const leftMs = refusal.untilMs - nowMs;
    const { code, message, hint, resetsAtMs } = refusal.error;
    const ago = Math.round((nowMs - refusal.atMs) / 1000);
    const next =
      refusal.toldAtMs === undefined
        ? `a request after ${Math.ceil(leftMs / 1000)} s is sent again`
        : "each request asks the IDE's server, without a prompt, whether the limit has ended";
    throw new MillraceError(code, message, {
      hint: `${hint} That was the answer ${ago} s ago, and no prompt was sent now; ${next}.`,
      ...(code === "rate_limited" ? { retryAfterMs: leftMs } : {}),
      ...(resetsAtMs === undefined ? {} : { resetsAtMs: Math.ceil(resetsAtMs / 1000) * 1000 }),
      repeated: true,
    });
  }

  /** The refusal that holds now. If the server knows the limit, the server decides when it ends. */
  async #current(model: ModelUid): Promise<Refusal | undefined> {
    const refusal = this.#byModel.get(model);
    if (refusal === undefined) return undefined;
    const nowMs = this.#options.clock.now();
    const isOver = nowMs >= refusal.untilMs;
    if (refusal.toldAtMs !== undefined && (isOver || nowMs - refusal.toldAtMs >= lookAgainMs)) {
      const limit = await this.#look(model);
      if (this.#byModel.get(model) !== refusal) return this.#byModel.get(model); // another request looked meanwhile
      if (limit !== undefined && !limit.hasCapacity) {
        const renewed = toldAnew(refusal, limit, this.#options.clock.now());
        this.#byModel.set(model, renewed);
        return renewed;
      }
      if (limit === undefined && !isOver) return refusal;
    } else if (!isOver) return refusal;
    this.#byModel.delete(model);
    return undefined;
  }

  /** The end of a turn. A refusal gets what the server reports about the limit. Never rejects. */
  async withLimit(end: TerminalEvent, model: ModelUid): Promise<TerminalEvent> {
    if (end.type !== "failed" || !isLimit(end.error)) return end;
    const limit = await this.#look(model);
    if (limit === undefined || limit.hasCapacity) return end; // it knows nothing of this limit
    this.#told.set(model, limit);
    const { resetsInMs } = limit;
    if (resetsInMs === undefined) return end;
    const wait = end.error.code === "rate_limited" ? { retryAfterMs: resetsInMs } : {};
    return { ...end, error: { ...end.error, ...wait, resetsAtMs: this.#options.clock.now() + resetsInMs } };
  }

  /** Requests that come at once share one look. */
  #look(model: ModelUid): Promise<ModelLimit | undefined> {
    const look = this.#looks.get(model) ?? this.#lookAt(model).finally(() => this.#looks.delete(model));
    this.#looks.set(model, look);
    return look;
  }

  async #lookAt(model: ModelUid): Promise<ModelLimit | undefined> {
    if (agentOfModel(model) !== undefined) return undefined;
    try {
      return await this.#options.limitOf?.(model, deadline(new AbortController().signal, lookMs));
    } catch {
      return undefined; // the refusal itself says enough
    }
  }

  /** Looks at a turn's events on their way into its log, and completes a refusal: the wait, the reset. */
  watch(model: ModelUid): EventStage {
    return {
      push: (event) => {
        if (event.type === "finished") this.#byModel.delete(model);
        if (event.type !== "failed") return [event];
        const error = this.#completed(event.error, model);
        this.#note(model, error);
        return [{ ...event, error }];
      },
    };
  }

  #completed(error: ErrorRecord, model: ModelUid): ErrorRecord {
    if (error.code === "rate_limited") return { retryAfterMs: unnamedWaitMs, ...error };
    if (error.code !== "quota_exhausted") return error;
    const ofAgent = agentOfModel(model);
    const planResetsAtMs = ofAgent === undefined ? this.#options.resetOf?.(windowOf(error)) : undefined;
    const resetsAtMs = error.resetsAtMs ?? planResetsAtMs;
    const isRefused = (uid: ModelUid) => uid === model || this.#byModel.has(uid);
    const hint = this.#options.adviceOf?.({ resetsAtMs, ofAgent }, isRefused) ?? error.hint;
    return { ...error, hint, ...(resetsAtMs === undefined ? {} : { resetsAtMs }) };
  }

  #note(model: ModelUid, error: ErrorRecord): void {
    if (!isLimit(error)) return;
    const told = this.#told.get(model);
    this.#told.delete(model);
    const atMs = this.#options.clock.now();
    const refusal = refusalOf(error, atMs);
    this.#byModel.set(model, told === undefined ? refusal : toldAnew(refusal, told, atMs));
  }
}

function refusalOf(error: ErrorRecord, atMs: number): Refusal {
  const lastsMs = Math.min(error.retryAfterMs ?? rememberMs, rememberMs);
  return { error, atMs, untilMs: Math.min(atMs + lastsMs, error.resetsAtMs ?? Infinity), toldAtMs: undefined };
}

/** The same refusal, until the end that the server reports; for a while if it reports none. */
function toldAnew(refusal: Refusal, { resetsInMs }: ModelLimit, nowMs: number): Refusal {
  const untilMs = nowMs + (resetsInMs ?? rememberMs);
  const error = resetsInMs === undefined ? refusal.error : { ...refusal.error, resetsAtMs: untilMs };
  return { ...refusal, error, untilMs, toldAtMs: nowMs };
}

function windowOf({ details }: ErrorRecord): "daily" | "weekly" | undefined {
  const window = typeof details === "object" && details !== null && "window" in details ? details.window : undefined;
  return window === "daily" || window === "weekly" ? window : undefined;
}
