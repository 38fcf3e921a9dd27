/** The most of a turn that one read may take from a medium. */
export interface PageLimit {
  readonly events: number;
  /** Bytes of stored payloads and outlines. The first record is taken even if it alone is larger. */
  readonly bytes: number;
}

/** The most that a reader holds at a time, for deltas of any size: this bounds the memory of slow readers. */
export const pageBytes = 256 * 1024;

/** The large parts of a record. */
interface Boxes {
  readonly payload: Uint8Array;
  readonly outline: Uint8Array;
}

/** Records of a turn; `full` when one more record, within the requested number, had no room. */
export interface Taken<Record> {
  readonly events: readonly Record[];
  readonly full: boolean;
}

/** Takes the first records, as many as fit. Reads at most one more than it takes, and then closes the source. */
export function takePage<Record extends Boxes>(records: Iterable<Record>, limit: PageLimit): Taken<Record> {
  const events: Record[] = [];
  let bytes = 0;
  if (limit.events <= 0) return { events, full: false };
  for (const record of records) {
    bytes += record.payload.length + record.outline.length;
    if (events.length > 0 && bytes > limit.bytes) return { events, full: true };
    events.push(record);
    if (events.length === limit.events) break;
  }
  return { events, full: false };
}
