/**
 * How a client or gateway came back to a turn: `key` (the same idempotency key), `implicit` (the same request again),
 * `last_event_id` (that header of a dialect's stream), `cursor` (the turn or its response, read by its id), `adopted` (a
 * gateway continued it after its process had ended).
 */
export type ResumptionKind = "key" | "implicit" | "last_event_id" | "cursor" | "adopted";

/** One return to a turn: who, when, and from where. Never a text. */
export interface Resumption {
  readonly turnId: string;
  /** Epoch ms. */
  readonly atMs: number;
  readonly how: ResumptionKind;
  /** The event id after which the client continues, `0` from the start; of a Responses stream perhaps `#12`, its sequence number. */
  readonly after: string;
  /** The client's product and version; undefined if it sends none, and for an adoption. */
  readonly client: string | undefined;
}

/** A client that comes back without end is recorded this often for one turn. */
export const mostResumptions = 200;
