import { isMillraceError, MillraceError } from "../../base/errors.ts";
import type { StreamRecord } from "./record.ts";

/**
 * The place where a client keeps the records of its streams. A record has one owner at a time, and only the owner reads and
 * writes it. Every implementation passes `record-store.conformance.ts`. Source: docs/dev/wire/idempotent-streams.md, "Hazards",
 * "Sealing and tickets".
 */
export interface RecordStore {
  /** Whether a record outlives the process or the page. */
  readonly survivesRestart: boolean;
  /** The keys of all streams that have a record, of any owner. */
  list(): Promise<readonly string[]>;
  /** Becomes the owner of a stream's record, which need not exist yet; undefined while another live process owns it. */
  take(streamKey: string): Promise<OwnedRecord | undefined>;
  /**
   * The record as it was saved last, of any owner, for observers; undefined if there is none. Changes nothing. Throws
   * `unreadableRecord()` for one that cannot be opened.
   */
  peek(streamKey: string): Promise<StreamRecord | undefined>;
}

/** A stream's record, held by its owner. Each method but `release` throws `recordTaken()` once another owner holds it. */
export interface OwnedRecord {
  /**
   * The record as it was saved last; undefined before the first time. Throws `damagedRecord()` for one that was changed, cut short,
   * swapped or replaced by an older copy: it is set aside first, never deleted.
   */
  read(): Promise<StreamRecord | undefined>;
  /** Resolved means that it survives a crash, as far as the store does. Throws `degraded` where it cannot be written. */
  save(record: StreamRecord): Promise<void>;
  /** Deletes the record; the owner stays the owner. Throws as `save` does. */
  remove(): Promise<void>;
  /** Moves the record aside, so that a person can look at it. Returns its new place. */
  setAside(): Promise<string>;
  /** Lets others have it. Nothing happens the second time. */
  release(): Promise<void>;
}

/** A record that cannot be trusted. `where`: where it is now. */
export function damagedRecord(why: string, where: string): MillraceError {
  return new MillraceError("internal", `The record of a stream cannot be trusted: ${why}.`, {
    hint: `The record was set aside (${where}), and nothing was sent. Start a new stream. The gateway may still have the answer.`,
    details: { reason: "damaged_record" },
  });
}

/** A record that an onlooker cannot open. Its owner will find out why, and set it aside. */
export function unreadableRecord(cause: unknown): MillraceError {
  return new MillraceError("internal", "The record of this stream cannot be opened.", {
    hint: "It was damaged, or sealed with another key. Millrace did not change it.",
    details: { reason: "damaged_record" },
    cause,
  });
}

/** No record of this stream in the store. */
export function noRecord(streamKey: string): MillraceError {
  return new MillraceError("invalid_request", `There is no record of a stream ${streamKey} here.`, {
    hint: "It has ended, or it was kept in another place.",
  });
}

/** The record of a stream that another process or window has. */
export function recordTaken(): MillraceError {
  return new MillraceError("idempotency_conflict", "Another process or window uses this stream now.", {
    hint: "Follow it there, or end it there and try again.",
    details: { reason: "record_taken" },
  });
}

/** A store whose place cannot be used, and why. */
export function recordNotWritten(cause: unknown): MillraceError {
  const message = "The record of this stream cannot be kept, so nothing more is sent. The answer can still be read.";
  return new MillraceError("degraded", message, {
    hint: "Free disk space, or let the program write to the records' folder again. Do not remove that folder while streams run.",
    cause,
  });
}

/** What `work` answers. Throws `recordNotWritten` for the errors of a file system or a database. */
export async function atStore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isMillraceError(error) ? error : recordNotWritten(error);
  }
}
