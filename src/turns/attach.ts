import { bestEffort, notNeeded } from "../base/async.ts";
import type { EventId, TurnId } from "../base/ids.ts";
import type { Secret } from "../base/secret.ts";
import type { CancelledBy, TurnEvent } from "../log/event.ts";
import { superseded } from "../log/rows.ts";
import type {
  AttachedStream,
  AttachIntent,
  LogStore,
  MessageAdmission,
  NewTurn,
  StreamMessage,
  StreamName,
  TurnRecord,
} from "../log/store.ts";
import type { BackOff } from "./back-off.ts";
import { eachDelivered, type TurnReads } from "./read.ts";
import type { Readers } from "./readers.ts";
import type { RunningTurns } from "./running-turns.ts";
import type { TurnStarter } from "./start.ts";
import type { AskedTurn, StartedTurn } from "./turns.ts";

/** The outcome of a message (see `MessageAdmission`), and the turn that the message started. */
export interface SendResult {
  readonly outcome: MessageAdmission["outcome"];
  readonly turn: StartedTurn | undefined;
}

/** Reads the turns of a client's stream, with the stream's key. */
export interface StreamAccess {
  /** As `Turns.get`, with the client's key. */
  get(turnId: TurnId): Promise<TurnRecord | undefined>;
  /** As `Turns.follow`, with the client's key: neither keeps a turn alive nor counts as its delivery. */
  follow(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<TurnEvent, void>;
}

/** The writing end of one client stream of the idempotent protocol. One is effective at a time: the newest. */
export interface Attachment extends StreamAccess, AttachedStream {
  /** The clock that `expiresAtMs` is told by, epoch ms. */
  readonly serverNowMs: number;
  /** Aborts with a `cancelled` whose details say `superseded` when a newer attach has the stream; never for an observer. */
  readonly superseded: AbortSignal;
  /**
   * Makes a message durable, together with the turn that it starts. If it throws, nothing is acknowledged. Throws `expired`,
   * `degraded`, and the errors of finding a backend.
   */
  send(message: StreamMessage, start: AskedTurn | undefined, signal: AbortSignal): Promise<SendResult>;
  /** As `Turns.cancel`, for a turn of this stream; false, and nothing happens, where a newer attach has the stream. */
  cancel(turnId: TurnId, by: CancelledBy): Promise<boolean>;
  /** As `Turns.open`, with the client's key, one by one (`eachDelivered`). */
  read(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<TurnEvent, void>;
  /** Stops watching for a newer attach. The turns continue. */
  close(): void;
}

/** Attaches clients to their streams, and starts the turns that the messages of a stream ask for. */
export function openAttach(parts: {
  readonly store: LogStore;
  readonly owner: string;
  readonly readers: Readers;
  readonly reads: TurnReads;
  readonly starter: Pick<TurnStarter, "launch">;
  readonly backOff: BackOff;
  readonly running: Pick<RunningTurns, "cancel">;
}) {
  const { store, readers, reads, running } = parts;
  /** Throws as `LogStore.attachStream` does, and `invalid_request` for a malformed key. */
  return async (
    name: StreamName,
    intent: AttachIntent,
    {
      graceMs,
      ticket,
    }: {
      /** The ticket that the client's last attach received. */
      readonly ticket?: Secret | undefined;
      /** Asks for a longer grace time of the running turn; ms. A shorter one changes nothing. */
      readonly graceMs?: number | undefined;
    } = {},
  ): Promise<Attachment> => {
    const stream = await store.attachStream(name, intent, ticket);
    const turnIds = stream.accepted.flatMap(({ turnId }) => turnId ?? []);
    const newer = new AbortController();
    const watching = new AbortController();
    if (intent !== "observe") {
      const told = store.untilSuperseded(stream, watching.signal).then(() => newer.abort(superseded()));
      void bestEffort(told); // ends with `close`; a store that cannot be asked fences the next message anyway
      const last = turnIds.at(-1);
      // before the client learns when the stream expires; if the turn has expired, reading it fails
      if (last !== undefined) await bestEffort(readers.noteGrace(last, graceMs));
      await store.keepTogether(turnIds);
    }
    /** Each look reads the rows of all turns: not at each message, and long before the first of them expires. */
    const keptForMs = (stream.expiresAtMs - store.now()) / 4;
    let keepAgainAtMs = store.now() + keptForMs;
    return {
      ...stream,
      serverNowMs: store.now(),
      superseded: newer.signal,
      send: async (message, start, signal) => {
        if (newer.signal.aborted) return { outcome: "fenced", turn: undefined };
        const sent = await send(parts, stream, { message, start }, signal);
        if (sent.turn !== undefined) {
          turnIds.push(sent.turn.turnId);
          if (store.now() >= keepAgainAtMs) {
            keepAgainAtMs = store.now() + keptForMs;
            await bestEffort(store.keepTogether(turnIds)); // the next attach does it too
          }
        }
        return sent;
      },
      cancel: (turnId, by) => running.cancel(turnId, by, stream),
      read: (turnId, after, signal) => eachDelivered(() => reads.open(turnId, after, signal, name)),
      get: (turnId) => store.get(turnId, name),
      follow: (turnId, after, signal) => reads.follow(turnId, after, signal, name),
      close: () => watching.abort(notNeeded),
    };
  };
}

async function send(
  { store, owner, starter, backOff }: Parameters<typeof openAttach>[0],
  stream: AttachedStream,
  { message, start }: { readonly message: StreamMessage; readonly start: AskedTurn | undefined },
  signal: AbortSignal,
): Promise<SendResult> {
  if (start === undefined) return { outcome: (await store.admit(stream, message)).outcome, turn: undefined };
  const { body } = start;
  if (body !== undefined) backOff.check(body, "stream");
  let outcome: MessageAdmission["outcome"] = "fenced";
  const admit = async (turn: NewTurn) => {
    const admitted = await store.admit(stream, message, { turn: { ...turn, accepted: true }, owner });
    outcome = admitted.outcome;
    return admitted.outcome === "admitted" ? admitted.turn : undefined;
  };
  const watch = body === undefined ? undefined : () => backOff.watch(body);
  const turn = await starter.launch(start, { store: admit, flushes: true, watch }, signal);
  return { outcome, turn };
}
