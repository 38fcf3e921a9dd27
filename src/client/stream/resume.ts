import { bestEffort } from "../../base/async.ts";
import { isMillraceError, type MillraceError } from "../../base/errors.ts";
import type { StreamRecord } from "../records/record.ts";
import { noRecord, type OwnedRecord, recordTaken } from "../records/record-store.ts";
import type { ReliableStream } from "./reliable-stream.ts";
import { Stream } from "./stream.ts";
import { neverAborted, type StreamOptions, type StreamSettings, settingsOf } from "./stream-options.ts";
import { begin } from "./stream-state.ts";

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
  if (record !== undefined) return new Stream(begin(record, options.after), owned, settings, signal);
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

const twoHoursMs = 7_200_000;

/**
 * Takes every stream that was left in the store, to continue it. A stream that was left longer ago than `lookbackMs` (2 hours), by the
 * gateway's clock, ends with `expired` when it is read. Nothing is connected before that. Source: docs/wire/idempotent-streams.md,
 * "Resuming at the start".
 */
export async function autoResume(
  options: StreamOptions & ResumeOptions & { readonly lookbackMs?: number },
  signal: AbortSignal = neverAborted,
): Promise<Leftover> {
  const { lookbackMs = twoHoursMs, after } = options;
  const settings: StreamSettings = { ...settingsOf(options), lookbackMs };
  const found = {
    streams: [] as Stream[],
    taken: [] as string[],
    cleared: [] as string[],
    damaged: [] as MillraceError[],
  };
  if (!settings.autoResume) return found;
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
        if (record !== undefined && !isOrphan(record, settings.clock.now() - lookbackMs)) {
          found.streams.push(new Stream(begin(record, after), owned, settings, signal));
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
