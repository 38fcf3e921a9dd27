import type { ModelUid, TurnId } from "../base/ids.ts";
import type { NextEvents } from "../log/read-turn.ts";
import type { NewTurn, TurnRecord } from "../log/store.ts";

/** A request that a dialect parsed, with the model that its name means and who asked. */
export interface AskedTurn extends Omit<NewTurn, "turnId" | "createdAtMs" | "graceMs" | "modelUid" | "account"> {
  readonly modelUid: ModelUid;
  /** Digest of the body where the fingerprint names a stream instead: two streams that ask the same have the same one. */
  readonly body?: string;
  /**
   * How long the turn continues without a reader; the configured time if undefined. `Infinity`: to its end. A joined turn keeps
   * its own time if that is longer.
   */
  readonly graceMs: number | undefined;
  /**
   * The client marks the request as a retry (`X-Stainless-Retry-Count`), or it cannot be anything else: the earlier turn is joined
   * although its reader is not known to be gone.
   */
  readonly retry?: boolean;
  /** The client repeats each failure in the middle of an answer seconds later, without its user: its repeat gets no prompt at once. */
  readonly repeatsLate?: boolean;
}

/** Tells which turn a request repeats (caller, body, key and session), and gives the grace time that this reader asks for. */
export type RequestIdentity = Pick<
  AskedTurn,
  "caller" | "fingerprint" | "idempotencyKey" | "session" | "retry" | "graceMs"
>;

/** The turn of a request: a new one, or an existing one (`key`: same idempotency key; `implicit`: same request again). */
export interface StartedTurn {
  readonly turnId: TurnId;
  /** The turn as stored. */
  readonly record: TurnRecord;
  readonly joined: "no" | "key" | "implicit";
  /** How the prompt reached the model, a fresh trajectory or one that already held the history; undefined until that is known. */
  readonly continuity: () => string | undefined;
}

/** One reader of a turn. The turn has it until it is closed. */
export interface TurnReader {
  readonly next: NextEvents;
  /** `isDelivered`: the client has the whole answer, so no repetition of its request joins the turn. Throws the store's errors. */
  readonly close: (isDelivered: boolean) => Promise<void>;
}
