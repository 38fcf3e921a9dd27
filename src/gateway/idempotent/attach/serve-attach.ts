import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { bestEffort } from "../../../base/async.ts";
import { Bell } from "../../../base/bell.ts";
import type { Clock } from "../../../base/clock.ts";
import { MillraceError, toMillraceError } from "../../../base/errors.ts";
import type { TurnId } from "../../../base/ids.ts";
import { superseded } from "../../../log/superseded.ts";
import {
  type StreamUnifiedChatResponseWithTools as ServerChunk,
  type StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
  StreamUnifiedChatResponseWithToolsIdempotentSchema as ServerMessageSchema,
} from "../../../proto/aiserver/v1/chat_pb.ts";
import type { Attachment } from "../../../turns/attach/attachment.ts";
import type { StreamEncoder } from "../../dialects/idempotent/encode.ts";
import { encodeFailedEnd, encodeInterruption, encodeRefusal } from "../../dialects/idempotent/errors.ts";
import { isAnswering, lookAgainMs } from "../../http/timing.ts";
import type { StreamOutcome } from "../../metrics/metrics.ts";
import { liveChunks } from "../stream/live-chunks.ts";
import { streamEncoder } from "../stream/stream-encoder.ts";
import { followState } from "./observe.ts";
import type { OpenAttach, StreamParts } from "./open-attach.ts";

/** How long a fresh stream waits for its first message, where its client may believe that it was accepted before; ms. */
const firstMessageMs = 8_000;

/** How long an attach to a stream that has ended waits for its client's last messages; ms. */
const lastWordsMs = 100;

type MessageInit = NonNullable<MessageInitShape<typeof ServerMessageSchema>["response"]>;

/**
 * The way down of one attach: welcome, every chunk after the cursor, acknowledgements, signs of life, the end. It is pulled at the
 * client's pace. When it ends, the way up ends too; if the client left, only after the received messages were worked on.
 *
 * @throws ConnectError as docs/stream-protocol.md, "Refusals", describes. `stopping` aborts when the gateway stops.
 */
export async function* serveAttach(
  parts: StreamParts,
  attach: OpenAttach,
  stopping: AbortSignal,
  signal: AbortSignal,
): AsyncGenerator<ServerMessage, void> {
  const { clock, metrics, waits } = parts;
  const { session, attachment, state, ask } = attach;
  const stop = new AbortController();
  const here = AbortSignal.any([signal, stop.signal]);
  const bell = new Bell();
  const ring = () => bell.ring();
  const ends = [here, stopping, attachment.superseded];
  for (const end of ends) end.addEventListener("abort", ring, { once: true });
  session.tell(bell);
  const encoder = streamEncoder(state);
  const observes = ask.intent === "observe";
  const onlooker: Pick<Attachment, "read"> = { read: (...asked) => attachment.follow(...asked) }; // keeps no turn alive
  const reading = observes ? onlooker : attachment;
  const chunks = new NextOf(
    liveChunks({ reading, state, tell: (other) => session.tell(other), cursor: ask.cursor, encoder }, here),
    bell,
  );
  const working = observes
    ? followState(parts, attach, () => session.noteChange(), here).catch((error: unknown) => {
        if (!here.aborted) session.fail(error);
      })
    : session.run(stop.signal);
  let outcome: StreamOutcome = "left";
  const nextBeatAt = () => clock.monotonic() + waits.heartbeatMs;
  let beatAt = nextBeatAt();
  const emptyUntilMs = ask.intent === "create" && !ask.saidIntent ? clock.monotonic() + firstMessageMs : Infinity;
  metrics.streamOpened();
  try {
    yield message({ case: "welcomeMessage", value: welcomeOf(attach) });
    for (;;) {
      for (const seqno of session.takeAcks()) {
        yield message({ case: "seqnoAck", value: seqno });
        beatAt = nextBeatAt();
      }
      if (session.failure !== undefined) throw session.failure;
      if (attachment.superseded.aborted) throw superseded();
      if (stopping.aborted)
        throw encodeInterruption("The gateway is stopping. The stream continues when it runs again.");
      here.throwIfAborted();
      const next = chunks.take();
      if (next === "ended") break;
      if (next !== undefined) {
        yield message({ case: "serverChunk", value: next });
        beatAt = nextBeatAt();
        continue;
      }
      const isEmpty = state.accepted === 0 && session.idle; // not while a message that arrived is being stored
      const emptyMs = isEmpty ? emptyUntilMs - clock.monotonic() : Infinity;
      if (emptyMs <= 0) throw lostStream();
      const leftMs = Math.min(emptyMs, beatAt - clock.monotonic());
      if (leftMs > 0) await waitFor(bell, clock, leftMs);
      else if (state.accepted > 0 && isAlive(parts, state.turns, encoder)) {
        metrics.heartbeat();
        yield message({ case: "seqnoAck", value: state.accepted - 1 });
        beatAt = nextBeatAt();
      } else beatAt = clock.monotonic() + lookAgainMs;
    }
    await lastWords(attach, bell, clock, here);
    if (session.failure !== undefined) throw session.failure;
    for (const seqno of session.takeAcks()) yield message({ case: "seqnoAck", value: seqno });
    outcome = encoder.ended?.type ?? "left";
    if (encoder.failure !== undefined) throw encodeFailedEnd(encoder.failure);
  } catch (error) {
    if (signal.aborted) return; // the client has disconnected and would not get the error
    if (outcome === "left") outcome = "failed";
    throw encodeAny(parts, error, state.accepted > 0);
  } finally {
    if (signal.aborted && !observes) await workOff(attach, bell, stopping);
    stop.abort();
    for (const end of ends) end.removeEventListener("abort", ring); // `stopping` lives on, and would keep the stream's key
    attach.close();
    metrics.streamEnded(outcome);
    parts.log.write("info", "stream attach", {
      turnId: state.turns.at(-1),
      epoch: attachment.epoch,
      accepted: state.accepted,
      ...(state.unread.length === 0 ? {} : { unread: state.unread.join(", ") }),
      outcome,
    });
    await Promise.all([working, chunks.close()]);
  }
}

/**
 * For a client that sends nothing on a stream that was just created. An earlier store acknowledged its request, so the client
 * waits for the answer; that store is lost.
 */
function lostStream(): MillraceError {
  return new MillraceError("expired", "The gateway does not know this stream, and its client sent no request.", {
    hint: "If the request was acknowledged before, the store that held it is gone. Send it again as a new stream.",
  });
}

/** Any failure in this protocol's format; bugs go to the log. `begun`: the stream has an accepted message. */
export function encodeAny({ log }: Pick<StreamParts, "log">, error: unknown, begun: boolean): unknown {
  if (error instanceof ConnectError) return error;
  const ours = toMillraceError(error);
  if (ours.code === "internal") {
    const bug = ours.cause instanceof Error ? ours.cause : ours;
    log.write("error", "unexpected error", { error: bug.stack });
  }
  const closer = ours.details !== undefined && ours.details !== null;
  if (ours.code === "cancelled" && !closer) return encodeInterruption(ours.message); // a read that the gateway's end cut
  return encodeRefusal(ours.toRecord(), begun);
}

function welcomeOf({ attachment, state, stored, turnId }: OpenAttach) {
  const highest = state.accepted === 0 ? {} : { highestSeqno: state.accepted - 1 };
  return {
    isDegradedMode: attachment.degraded,
    facts: {
      epoch: attachment.epoch,
      tailEventId: stored.tailEventId,
      ...highest,
      expiresAtUnixMs: BigInt(Math.min(attachment.expiresAtMs, stored.expiresAtMs)),
      serverNowUnixMs: BigInt(attachment.serverNowMs),
      chainHead: stored.chainHead,
      nextTicket: Buffer.from(attachment.nextTicket?.reveal() ?? "", "base64url"),
      turnId: turnId ?? "",
    },
  };
}

/** While a turn runs, only messages of its model's server count as signs of life; otherwise the stream waits for its client. */
function isAlive({ turns, clock, waits }: StreamParts, ids: readonly TurnId[], encoder: StreamEncoder): boolean {
  const turnId = ids.at(-1);
  if (turnId === undefined || (encoder.segment === ids.length && encoder.turnEnd !== undefined)) return true;
  return isAnswering(turns.lastAliveAtMs(turnId), clock, waits);
}

/** Messages that are there are accepted before the call ends; to a stream that had ended before, a late one may still come. */
async function lastWords(
  { session, stored }: OpenAttach,
  bell: Bell,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const until = clock.monotonic() + lastWordsMs;
  while (!signal.aborted && session.failure === undefined) {
    const leftMs = until - clock.monotonic();
    if (leftMs <= 0 || (session.idle && (session.inputEnded || !stored.ended))) return;
    await waitFor(bell, clock, leftMs);
  }
}

/** Works off the messages of a client that has left, under the epoch of its attach, until nothing more can come. */
async function workOff({ session, attachment }: OpenAttach, bell: Bell, stopping: AbortSignal): Promise<void> {
  const isDone = () => session.idle && session.inputEnded;
  const isOver = () => session.failure !== undefined || attachment.superseded.aborted || stopping.aborted;
  while (!isDone() && !isOver()) await bell.wait();
}

/** Resolves when the bell rings, or after `ms`. */
async function waitFor(bell: Bell, clock: Clock, ms: number): Promise<void> {
  const stop = new AbortController();
  void bestEffort(clock.sleep(ms, stop.signal).then(() => bell.ring()));
  await bell.wait();
  stop.abort();
}

/** The next item of a generator, asked for early: one at most is held, and the bell rings when it is there. */
class NextOf {
  readonly #items: AsyncGenerator<ServerChunk, void>;
  readonly #bell: Bell;
  #pending = false;
  #result: IteratorResult<ServerChunk, void> | undefined;
  #error: { readonly error: unknown } | undefined;

  constructor(items: AsyncGenerator<ServerChunk, void>, bell: Bell) {
    this.#items = items;
    this.#bell = bell;
  }

  /** The next chunk; undefined while there is none. Throws the generator's error. */
  take(): ServerChunk | "ended" | undefined {
    if (this.#error !== undefined) throw this.#error.error;
    const result = this.#result;
    if (result === undefined) {
      if (!this.#pending) void this.#ask();
      return undefined;
    }
    if (result.done === true) return "ended";
    this.#result = undefined;
    return result.value;
  }

  async close(): Promise<void> {
    await bestEffort(this.#items.return());
  }

  async #ask(): Promise<void> {
    this.#pending = true;
    try {
      this.#result = await this.#items.next();
    } catch (error) {
      this.#error = { error };
    }
    this.#pending = false;
    this.#bell.ring();
  }
}

function message(response: MessageInit): ServerMessage {
  return create(ServerMessageSchema, { response });
}
