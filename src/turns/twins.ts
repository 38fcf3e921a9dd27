import { isDeepStrictEqual } from "node:util";
import { isAwaited } from "../backends/backend.ts";
import { untilAborted, within } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import { MillraceError, reasonOf, unsentPrompt } from "../base/errors.ts";
import { writeJson } from "../base/json.ts";
import { seqOf, type TurnEvent } from "../log/event.ts";
import type { Message, TurnRequest } from "../log/request.ts";
import type { TurnLabel } from "../log/store.ts";
import type { RequestIdentity } from "./turns.ts";

/** Throws `idempotency_conflict` when the turn that holds the request's key was started by another request. */
export function refuseConflict(
  asked: Pick<RequestIdentity, "fingerprint">,
  held: Pick<TurnLabel, "fingerprint">,
): void {
  if (held.fingerprint === asked.fingerprint || held.fingerprint === "") return; // unknown of turns of early builds
  throw new MillraceError("idempotency_conflict", "This idempotency key was used for a different request.");
}

/**
 * Whether the event ended its turn before a prompt was sent, so that its key is not spent: it is the only event of its log, or follows
 * `started` and says so. A turn whose first prompt was answered has its usage before the end. Source: docs/dev/turn-machine.md, I1 and I6.
 */
export function failedUnsent(event: TurnEvent): boolean {
  if (event.type !== "failed") return false;
  const seq = seqOf(event.eventId);
  return seq === 1 || (seq === 2 && reasonOf(event.error) === unsentPrompt);
}

/** An earlier turn of the same caller with the same fingerprint. */
export interface Twin {
  readonly record: TurnLabel;
  /** Whether it has a reader now, as far as this process knows. */
  readonly beingRead: boolean;
}

/**
 * The earlier turn that a request without a key most likely repeats: same session, and either still running with no reader, or
 * finished while its reader was gone. A failed or cancelled turn never counts, since its repetition deserves another try. A turn whose
 * answer was delivered whole does not count either, since a client may ask the same question twice. A request marked as a retry joins
 * a running turn even if the turn seems to have a reader, or its reader seems to have its answer (the response object of one in the
 * background). Source: docs/dev/wire/clients.md, "Silence and repeats".
 */
export function implicitTwin(
  asked: Pick<RequestIdentity, "session" | "retry">,
  twins: readonly Twin[],
): TurnLabel | undefined {
  return twins.find(({ record, beingRead }) => {
    if (record.session !== asked.session || record.idempotencyKey !== undefined) return false;
    const wanting = !record.delivered && !beingRead;
    if (record.ended) return record.outcome === "finished" && wanting;
    return record.cancelRequested === undefined && (wanting || asked.retry === true);
  })?.record;
}

/**
 * Whether a request can only be a repetition of an equal one: it ends with results that an agent waits for, and an agent takes each
 * result once.
 */
export function endsInAwaitedResults({ messages }: Pick<TurnRequest, "messages">): boolean {
  const last = messages.at(-1);
  return last?.role === "tool" && isAwaited(last.callId);
}

/** Whether a history holds all of an earlier one, and a message of the user after it. */
export function goesOnPast(messages: readonly Message[], earlier: readonly Message[]): boolean {
  const later = messages.slice(earlier.length);
  return later.some(({ role }) => role === "user") && isDeepStrictEqual(messages.slice(0, earlier.length), earlier);
}

/** Running turns that the request would join if they had no reader. */
export function twinsBeingRead(asked: Pick<RequestIdentity, "session">, twins: readonly Twin[]): readonly TurnLabel[] {
  return twins
    .filter(
      ({ record, beingRead }) => beingRead && !record.ended && implicitTwin(asked, [{ record, beingRead: false }]),
    )
    .map(({ record }) => record);
}

/** How long a request waits for the same one before it to be stored or given up, while that one's client is there; ms. */
const storingMs = 250;

/** A request that looks for its turn, or is about to store it. */
interface Start {
  /** Aborts when its client goes away. */
  readonly signal: AbortSignal;
  /** Resolves when it has its turn, or has failed. */
  readonly settled: Promise<void>;
}

/** Requests without a key in this process that have no stored turn yet, where their repetition could find it. */
export class StartsInFlight {
  readonly #clock: Clock;
  readonly #starts = new Map<string, Set<Start>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  enter(
    { caller, fingerprint, session, idempotencyKey }: RequestIdentity,
    signal: AbortSignal,
  ): {
    /** The same request, without a key, that began before it and has no turn yet. */
    readonly earlier: readonly Start[];
    /** Reports that the request has its turn, or has failed. */
    readonly leave: () => void;
  } {
    if (idempotencyKey !== undefined) return { earlier: [], leave: () => {} }; // the store keeps those apart
    const key = writeJson([caller, fingerprint, session]);
    const starts = this.#starts.get(key) ?? new Set();
    const earlier = [...starts];
    const { promise: settled, resolve } = Promise.withResolvers<void>();
    const start = { signal, settled };
    this.#starts.set(key, starts.add(start));
    const leave = () => {
      starts.delete(start);
      if (starts.size === 0 && this.#starts.get(key) === starts) this.#starts.delete(key);
      resolve();
    };
    return { earlier, leave };
  }

  /**
   * Waits for earlier requests that this one repeats: for all of them if it is marked as a retry, else for those whose client
   * disconnects within a quarter of a second. Rejects with the signal's reason.
   */
  async untilStored(earlier: readonly Start[], { retry }: RequestIdentity, signal: AbortSignal): Promise<void> {
    const left = untilAborted(signal);
    const all = Promise.all(earlier.map(({ settled }) => settled));
    if (retry !== true) await within(Promise.race([all, left]), storingMs, this.#clock);
    const repeated = earlier.filter((start) => retry === true || start.signal.aborted);
    await Promise.race([Promise.all(repeated.map(({ settled }) => settled)), left]);
    signal.throwIfAborted();
  }
}
