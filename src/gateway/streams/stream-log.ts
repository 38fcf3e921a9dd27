import { createHash } from "node:crypto";
import { type ErrorRecord, MillraceError } from "../../base/errors.ts";
import { type EventId, startOfLog, type TurnId } from "../../base/ids.ts";
import { withSpentStream } from "../../base/spent-stream.ts";
import type { StreamUnifiedChatResponseWithTools as ServerChunk } from "../../proto/aiserver/v1/chat_pb.ts";
import type { Attachment, StreamAccess } from "../../turns/attach.ts";
import { waitAfterFirst } from "../../turns/back-off.ts";
import { type Answer, AnswerFold, type Block } from "../dialects/answer.ts";
import { type Digest, type EncodedTurns, StreamEncoder } from "../dialects/idempotent/encode.ts";
import { refusal } from "../dialects/idempotent/errors.ts";
import type { AttachRequest } from "./attach-headers.ts";
import type { StreamProgress } from "./progress.ts";

/** SHA-256 over the digest before and the chunk's bytes. Source: docs/stream-protocol.md, "Events". */
export const chainDigest: Digest = (before, chunk) => createHash("sha256").update(before).update(chunk).digest();

/** One attach to a stream: its headers, its hold on the stream, the stream's progress, and its logs as they were found. */
export interface OpenStream {
  readonly ask: AttachRequest;
  readonly attachment: Attachment;
  readonly state: StreamProgress;
  readonly stored: StoredStream;
}

/** A stream as its logs hold it at an attach. */
export interface StoredStream {
  /** The turns before the cursor, which were not read; unset where it was read from the start. */
  readonly before: EncodedTurns | undefined;
  readonly tailEventId: string;
  /** The digest at the cursor. */
  readonly chainHead: Uint8Array;
  readonly ended: boolean;
  /** When the first of its ended turns is no longer kept, epoch ms; `Infinity` where none has ended. */
  readonly expiresAtMs: number;
  /** What was encoded; undefined where it is too long to be held: then it is read once more, at the client's pace. */
  readonly held:
    | {
        readonly encoder: StreamEncoder;
        /** Taken out once they are sent. */
        readonly chunks: ServerChunk[];
        readonly read: readonly { readonly turnId: TurnId; readonly lastEventId: EventId }[];
      }
    | undefined;
}

/** Bytes of the chunks that one attach holds until its client has taken them. */
const mostHeldBytes = 256 * 1024;

/** How many ended turns are remembered; the oldest are forgotten first, and then read once more. */
const mostMarks = 10_000;

/** How the chunks of streams stood after turns that another one follows. So an attach reads from the turn of its cursor. */
export class StreamMarks {
  readonly #after = new Map<TurnId, EncodedTurns>();

  /** Notes where the encoder stands, after that turn. */
  note(turnId: TurnId, { turns }: Pick<StreamEncoder, "turns">): void {
    this.#after.set(turnId, turns);
    const [oldest] = this.#after.keys();
    if (this.#after.size > mostMarks && oldest !== undefined) this.#after.delete(oldest);
  }

  /** The turns whose chunks all come before the cursor, or are the cursor; never the last one. */
  before(cursor: string, turns: readonly TurnId[]): EncodedTurns | undefined {
    for (const turnId of turns.slice(0, -1).reverse()) {
      const mark = this.#after.get(turnId);
      if (mark !== undefined && mark.tail.eventId <= cursor) return mark;
    }
    return undefined;
  }
}

/**
 * Reads what a stream's logs hold from the turn of the cursor on, and checks the cursor against it before anything is sent. Source:
 * docs/dev/wire/idempotent-streams.md, "What a server must do".
 *
 * @throws MillraceError `expired` when part of it is no longer kept, and with reason `diverged` for a cursor that is not in it, or
 * whose digest differs.
 */
export async function readStored(
  reading: StreamAccess,
  state: StreamProgress,
  { cursor, chain, marks }: Pick<AttachRequest, "cursor" | "chain"> & { readonly marks: StreamMarks },
  signal: AbortSignal,
): Promise<StoredStream> {
  let heldBytes = 0;
  const before = marks.before(cursor, state.turns);
  const encoder = streamEncoder(state, before, (digest, chunk) => {
    if (chainHead !== undefined) heldBytes += chunk.length;
    return chainDigest(digest, chunk);
  });
  let chainHead = cursor === encoder.tail.eventId ? encoder.tail.chain : undefined;
  let expiresAtMs = Number.POSITIVE_INFINITY;
  let chunks: ServerChunk[] = [];
  const read: { readonly turnId: TurnId; readonly lastEventId: EventId }[] = [];
  const note = (chunk: ServerChunk, upTo: Uint8Array) => {
    if (chunk.eventId === cursor) chainHead = upTo;
    else if (chainHead !== undefined && heldBytes <= mostHeldBytes) chunks.push(chunk);
    else chunks = [];
  };
  for (const turnId of state.turns.slice(encoder.segment)) {
    const record = await reading.get(turnId);
    if (record === undefined) throw new MillraceError("expired", "This stream is no longer kept.");
    if (record.ended) expiresAtMs = Math.min(expiresAtMs, record.expiresAtMs);
    begin(encoder, state, marks);
    let lastEventId = startOfLog;
    if (record.lastEventId !== startOfLog)
      for await (const event of reading.follow(turnId, startOfLog, signal)) {
        encoder.push(event, note);
        lastEventId = event.eventId;
        if (lastEventId >= record.lastEventId) break; // what comes after that comes live
      }
    read.push({ turnId, lastEventId });
  }
  const how = encoder.ended === undefined ? endBetween(state, encoder) : undefined;
  if (how !== undefined) encoder.end(how, note);
  const isSame = chainHead !== undefined && (chain === undefined || Buffer.from(chain).equals(chainHead));
  if (chainHead === undefined || !isSame) throw diverged();
  const held = heldBytes <= mostHeldBytes ? { encoder, chunks, read } : undefined;
  const { eventId: tailEventId } = encoder.tail;
  return { before, tailEventId, chainHead, ended: encoder.ended !== undefined, expiresAtMs, held };
}

/** Begins the stream's next turn. The one before has ended, so it need not be read again. */
function begin(encoder: StreamEncoder, { turns }: StreamProgress, marks: StreamMarks): void {
  const ended = turns[encoder.segment - 1];
  if (ended !== undefined) marks.note(ended, encoder);
  encoder.begin();
}

/** The welcome to a stream. */
export function welcomeOf({ attachment, state, stored }: OpenStream) {
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
      turnId: state.turns.at(-1) ?? "",
    },
  };
}

/**
 * Every chunk of a stream after the cursor, live ones too, up to its end, at the reader's pace. Between two turns it waits for the
 * client's messages. A reader that asks for more after a turn's last chunk confirms that the chunk was delivered.
 *
 * Throws as reading a turn does, and the signal's reason.
 */
export async function* liveChunks(
  reading: Pick<Attachment, "read">,
  state: StreamProgress,
  {
    cursor,
    encoder,
    held,
    marks,
  }: { readonly cursor: string; readonly encoder: StreamEncoder; readonly marks: StreamMarks } & Pick<
    StoredStream,
    "held"
  >,
  signal: AbortSignal,
): AsyncGenerator<ServerChunk, void> {
  const chunksAfter = async function* (turnId: TurnId, lastEventId: EventId) {
    for await (const event of reading.read(turnId, lastEventId, signal)) {
      for (const chunk of encoder.push(event)) if (chunk.eventId > cursor) yield chunk;
    }
  };
  yield* held?.chunks.splice(0) ?? [];
  for (const { turnId, lastEventId } of held?.read ?? []) yield* chunksAfter(turnId, lastEventId);
  while (encoder.ended === undefined) {
    let turnId = state.turns[encoder.segment];
    for (; turnId === undefined; turnId = state.turns[encoder.segment]) {
      const how = endBetween(state, encoder);
      if (how !== undefined) {
        const chunk = encoder.end(how);
        if (chunk.eventId > cursor) yield chunk;
        return;
      }
      await state.news.wait(signal);
    }
    begin(encoder, state, marks);
    yield* chunksAfter(turnId, startOfLog);
  }
}

/** How the client ended the stream while none of its turns ran, if it did. */
function endBetween(state: StreamProgress, { segment, turnEnd, blocks }: StreamEncoder): "close" | "abort" | undefined {
  return segment === 0 || waitsForResults(turnEnd) ? state.endAfter(blocks) : undefined;
}

/** The encoder of a stream, after those turns. `unread` lists the request's fields that Millrace does not use, once the model has the prompt. */
export function streamEncoder(
  state: { readonly unread: readonly string[] },
  after: EncodedTurns | undefined,
  digest: Digest = chainDigest,
): StreamEncoder {
  return new StreamEncoder({ digest, unread: () => state.unread, told: toldSpent, after });
}

/** Each attach to the stream gives its failure again and never a prompt, so "try again" alone sends its reader in a circle. */
function toldSpent(error: ErrorRecord): ErrorRecord {
  return { ...error, hint: withSpentStream(error.hint, waitAfterFirst(error)) };
}

/** Reads a turn to its end, as an observer. Throws as reading does. */
export async function readAnswer(
  reading: StreamAccess,
  turnId: TurnId,
  signal: AbortSignal,
): Promise<{
  readonly blocks: readonly Block[];
  readonly waits: boolean;
}> {
  const fold = new AnswerFold({ tools: [] });
  for await (const event of reading.follow(turnId, startOfLog, signal)) fold.push(event);
  return { blocks: fold.answer.blocks, waits: waitsForResults(fold.answer.end) };
}

/** Whether a turn with this end continues once its calls have results. */
function waitsForResults(end: Answer["end"]): boolean {
  return end?.type === "finished" && end.reason.unified === "tool_calls";
}

function diverged(): MillraceError {
  const message = "The cursor is not in this stream's log, or the log before it is another one.";
  return refusal("invalid_request", "diverged", message, {
    hint: "The client or the gateway went back to an older copy of its data. Start a new stream.",
  });
}
