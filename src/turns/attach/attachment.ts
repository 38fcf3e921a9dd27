import { bestEffort, notNeeded } from "../../base/async.ts";
import type { EventId, TurnId } from "../../base/ids.ts";
import type { Secret } from "../../base/secret.ts";
import type {
  AcceptedMessage,
  AttachedStream,
  AttachIntent,
  AttachProof,
  StreamMessage,
  StreamName,
} from "../../log/client-stream.ts";
import type { CancelledBy, TurnEvent } from "../../log/event.ts";
import type { Admitted, StreamStore, TurnRecord } from "../../log/store.ts";
import { superseded } from "../../log/superseded.ts";
import type { StartedTurn, StartTurn, Turns } from "../turns.ts";

/** The outcome of a message (see `Admitted`), and the turn that the message started. */
export interface Sent {
  readonly outcome: Admitted["outcome"];
  readonly turn: StartedTurn | undefined;
}

/** Reads the turns of a client's stream, with the stream's key. */
export interface StreamReading {
  /** As `Turns.get`, with the client's key. */
  get(turnId: TurnId): Promise<TurnRecord | undefined>;
  /** As `Turns.follow`, with the client's key: neither keeps a turn alive nor counts as its delivery. */
  follow(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<TurnEvent, void>;
}

/** The writing end of one client stream of the idempotent protocol. One is effective at a time: the newest. */
export interface Attachment extends StreamReading {
  readonly epoch: number;
  /** The messages accepted before, in order: the next number is their count. */
  readonly accepted: readonly AcceptedMessage[];
  /** When the stream expires, and the time now, both epoch ms. */
  readonly expiresAtMs: number;
  readonly serverNowMs: number;
  /** 32 bytes, base64url: the ticket for the next attach. Undefined for an observer. */
  readonly nextTicket: Secret | undefined;
  /** Decided now, and never turned on later: the stream will not survive a restart. */
  readonly degraded: boolean;
  /** Aborts with a `cancelled` whose details say `superseded` when a newer attach has the stream. */
  readonly superseded: AbortSignal;
  /**
   * Makes a message durable, together with the turn that it starts. If it throws, nothing is acknowledged. Throws `expired`,
   * `degraded`, and the errors of finding a backend.
   */
  send(message: StreamMessage, start: StartTurn | undefined, signal: AbortSignal): Promise<Sent>;
  /** As `Turns.cancel`, for a turn of this stream; false, and nothing happens, where a newer attach has the stream. */
  cancel(turnId: TurnId, by: CancelledBy): Promise<boolean>;
  /** As `Turns.read`, with the client's key. */
  read(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<TurnEvent, void>;
  /** Stops watching for a newer attach. The turns continue. */
  close(): void;
}

/** A client's options for an attach, beside the stream's name. */
export interface AttachOptions extends AttachProof {
  /** Asks for a longer grace time of the running turn; ms. A shorter one changes nothing. */
  readonly graceMs?: number | undefined;
}

/** Turns that can also be started by the numbered messages of a client's stream. */
export interface StreamTurns extends Turns {
  /** Throws as `StreamStore.attachStream` does, and `invalid_request` for a malformed key. */
  attach(name: StreamName, intent: AttachIntent, options?: AttachOptions): Promise<Attachment>;
}

interface WatchedStream {
  readonly superseded: AbortSignal;
  readonly stop: () => void;
}

/** A signal that aborts when a newer attach has the stream, until `stop` is called. */
export function watchSuperseded(store: Pick<StreamStore, "untilSuperseded">, stream: AttachedStream): WatchedStream {
  const watching = new AbortController();
  const newer = new AbortController();
  const told = store.untilSuperseded(stream, watching.signal).then(() => newer.abort(superseded()));
  void bestEffort(told); // ends with `stop`; a store that cannot be asked fences the next message anyway
  return { superseded: newer.signal, stop: () => watching.abort(notNeeded) };
}

/** An observer takes no stream over, and no attach takes it from an observer. */
export const neverSuperseded: WatchedStream = { superseded: new AbortController().signal, stop: () => {} };
