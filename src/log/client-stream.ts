import type { TurnId } from "../base/ids.ts";
import type { Secret } from "../base/secret.ts";

/** Who names a stream of the idempotent protocol how. Another key is another stream: a wrong one finds nothing. */
export interface StreamName {
  /** Digest of the caller's API key. */
  readonly caller: string;
  /** The client's own name for it, a UUID. */
  readonly name: string;
  /** 32 bytes, base64url: seals the client's messages and the turns that they started. */
  readonly clientKey: Secret | undefined;
}

/** `create` makes the stream if there is none, `resume` never does; `observe` only reads and does not disturb the writer. */
export type AttachIntent = "create" | "resume" | "observe";

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
  /** When the accepted messages expire, epoch ms; an attach and each message move it on. */
  readonly expiresAtMs: number;
  /** 32 bytes, base64url: the ticket for the next attach. Undefined for an observer. */
  readonly nextTicket: Secret | undefined;
  /** True when only memory holds it. */
  readonly degraded: boolean;
}

/** An attach that sends on its stream. */
export type StreamHolder = Pick<AttachedStream, "name" | "epoch" | "degraded">;

/** A numbered message of a client. */
export interface StreamMessage {
  readonly seqno: number;
  readonly payload: Uint8Array;
}
