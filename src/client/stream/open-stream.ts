import { base64Encode } from "@bufbuild/protobuf/wire";
import { bestEffort } from "../../base/async.ts";
import { isMillraceError, type MillraceError } from "../../base/errors.ts";
import { newRecord, type StreamRecord } from "../records/record.ts";
import { noRecord, type OwnedRecord, recordTaken } from "../records/record-store.ts";
import { encodeRequest, type StreamRequest } from "./messages.ts";
import { ReliableStream } from "./stream.ts";
import { neverAborted, type StreamOptions, settingsOf } from "./stream-options.ts";
import { StreamSession } from "./stream-session.ts";
import { begin } from "./stream-state.ts";

/**
 * Starts a stream: from here on its request is stored, and nothing is sent before. `events` connects. The signal disconnects
 * and cancels nothing.
 *
 * @throws MillraceError `degraded` where the record cannot be written.
 */
export async function startReliableStream(
  request: StreamRequest,
  options: StreamOptions,
  signal: AbortSignal = neverAborted,
): Promise<ReliableStream> {
  const settings = settingsOf(options);
  const payload = encodeRequest(request);
  const ids = {
    streamKey: crypto.randomUUID(),
    encryptionKey: base64Encode(crypto.getRandomValues(new Uint8Array(32)), "url"),
  };
  const owned = await settings.store.take(ids.streamKey);
  if (owned === undefined) throw recordTaken();
  const record = newRecord(ids, settings.clock.now(), settings.label);
  const session = new StreamSession(begin(record), owned, settings);
  try {
    await session.take({ type: "given", kind: "request", payload });
  } catch (error) {
    await owned.release();
    throw error;
  }
  return new ReliableStream(session, settings, signal);
}

export interface ResumeOptions {
  /**
   * The last event that the application itself has kept: it is handed those after it. "0": all of them again. By default those
   * that had not been applied, as far as the record knows.
   */
  readonly after?: string;
}

/**
 * Continues a stream from its record, also after a restart of the application.
 *
 * @throws MillraceError `invalid_request` if there is no such record, `idempotency_conflict` while another process or window has it,
 * and the error of `OwnedRecord.read` for a damaged one.
 */
export async function resume(
  streamKey: string,
  options: StreamOptions & ResumeOptions,
  signal: AbortSignal = neverAborted,
): Promise<ReliableStream> {
  const settings = settingsOf(options);
  const owned = await settings.store.take(streamKey);
  if (owned === undefined) throw recordTaken();
  const record = await readOrRelease(owned);
  if (record !== undefined)
    return new ReliableStream(new StreamSession(begin(record, options.after), owned, settings), settings, signal);
  await owned.release();
  throw noRecord(streamKey);
}

/** The streams of earlier runs of the application. */
export interface Leftover {
  /** To be read on, each to its end. */
  readonly streams: readonly ReliableStream[];
  /** Keys of streams that another process or window uses. */
  readonly taken: readonly string[];
  /** Keys of streams that were never sent, or left before a gateway could have answered: their records were removed. */
  readonly cleared: readonly string[];
  /** The errors of records that were set aside. */
  readonly damaged: readonly MillraceError[];
}

/** How long a gateway keeps a stream by default; ms. */
const keptMs = 7_200_000;

/**
 * Takes every stream that was left in the store, to continue it. Nothing is connected before a stream is read; one that the gateway
 * no longer keeps ends with `expired` then. Source: docs/dev/wire/idempotent-streams.md, "Resuming at the start".
 */
export async function autoResume(
  options: StreamOptions & ResumeOptions,
  signal: AbortSignal = neverAborted,
): Promise<Leftover> {
  const settings = settingsOf(options);
  const found = {
    streams: [] as ReliableStream[],
    taken: [] as string[],
    cleared: [] as string[],
    damaged: [] as MillraceError[],
  };
  try {
    for (const streamKey of await settings.store.list()) {
      signal.throwIfAborted();
      const owned = await settings.store.take(streamKey);
      if (owned === undefined) {
        found.taken.push(streamKey);
        continue;
      }
      try {
        const record = await readOrRelease(owned);
        if (record !== undefined && !isOrphan(record, settings.clock.now() - keptMs)) {
          const session = new StreamSession(begin(record, options.after), owned, settings);
          found.streams.push(new ReliableStream(session, settings, signal));
          continue;
        }
        if (record !== undefined) found.cleared.push(streamKey);
        await owned.remove();
        await owned.release();
      } catch (error) {
        if (!isMillraceError(error)) throw error;
        found.damaged.push(error);
      }
    }
    return found;
  } catch (error) {
    for (const stream of found.streams) await bestEffort(stream.leave());
    throw error;
  }
}

/**
 * Whether the record belongs to no stream: it has no message, or the gateway never welcomed it (so nothing was sent) and it is old.
 * Its age is measured by this machine's clock, because the gateway's clock is unknown here.
 */
function isOrphan(record: StreamRecord, beforeMs: number): boolean {
  return record.nextSeqno === 0 || (!record.created && record.createdAtMs < beforeMs);
}

async function readOrRelease(owned: OwnedRecord): Promise<StreamRecord | undefined> {
  try {
    return await owned.read();
  } catch (error) {
    await bestEffort(owned.release());
    throw error;
  }
}
