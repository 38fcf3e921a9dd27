import type { TurnId } from "../base/ids.ts";
import type { Secret } from "../base/secret.ts";
import type { LogStore, LogWriter, NewTurn, TurnRecord } from "./store.ts";

/** Who names a stream of the idempotent protocol how. Another key is another stream: a wrong one finds nothing. */
export interface StreamName {
  /** Digest of the caller's API key. */
  readonly caller: string;
  /** The client's own name for it, a UUID. */
  readonly name: string;
  /** 32 bytes, base64url: seals what was sent and the turns that it started. */
  readonly clientKey: Secret | undefined;
}

/** A message that a client sent and that was made durable; only these are acknowledged. */
export interface AcceptedMessage {
  /** From 0, without gaps. */
  readonly seqno: number;
  readonly payload: Uint8Array;
  /** The turn that it started, if it did. */
  readonly turnId: TurnId | undefined;
}

/** A stream as an attach found it. The newest attach may send; older ones are fenced off. */
export interface AttachedStream {
  readonly name: StreamName;
  /** Grows with each attach, from 1. */
  readonly epoch: number;
  readonly accepted: readonly AcceptedMessage[];
  /** When what was accepted is no longer kept, epoch ms; an attach and each message move it on. */
  readonly expiresAtMs: number;
  /** True when only memory holds it. */
  readonly degraded: boolean;
}

/**
 * What became of a message. `admitted` and `repeated` are acknowledged; `conflict`: that number was used for another
 * payload; `gap`: an earlier number is missing; `fenced`: a newer attach has the stream.
 */
export type Admitted =
  | {
      readonly outcome: "admitted";
      readonly turn: { readonly record: TurnRecord; readonly writer: LogWriter } | undefined;
    }
  | { readonly outcome: "repeated" | "conflict" | "gap" | "fenced" };

/** What clients sent, numbered. The part of a log that makes sending a message twice the same as sending it once. */
export interface StreamStore {
  /**
   * Attaches to a stream; `create` makes it where there is none. Throws `expired` where `resume` finds none, or it is no
   * longer kept: never a second stream in its place.
   */
  attachStream(name: StreamName, intent: "create" | "resume"): Promise<AttachedStream>;
  /** Accepts a message, and creates the turn that it starts, in one durable step. Throws `expired`. */
  admit(
    stream: Pick<AttachedStream, "name" | "epoch" | "degraded">,
    message: { readonly seqno: number; readonly payload: Uint8Array },
    start?: { readonly turn: NewTurn; readonly owner: string },
  ): Promise<Admitted>;
  /** Resolves once a newer attach has the stream. Rejects with the signal's reason. */
  untilSuperseded(stream: Pick<AttachedStream, "name" | "epoch" | "degraded">, signal: AbortSignal): Promise<void>;
}

/** A log of turns that also keeps what clients sent: what every store opens. */
export type StreamLog = LogStore & StreamStore;
