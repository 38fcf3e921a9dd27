import { MillraceError } from "../../base/errors.ts";
import type { TurnEvent } from "../event.ts";
import { eventIdOf } from "../event-id.ts";
import { decodeOutline, type OutlinedEvent } from "../outline.ts";
import type { OutlineCodec, TurnCodec } from "./codec.ts";
import type { EventRow, Page } from "./medium.ts";
import { damagedLog, decodeRecord } from "./record-text.ts";

/** Where a page begins, and how many records it may have; the medium may have had room for fewer. */
export interface PageAsk {
  readonly afterSeq: number;
  readonly limit: number;
}

/** Events of a turn in order; `ended` when nothing can follow the last of them. */
export interface Opened<E> {
  readonly events: readonly E[];
  readonly ended: boolean;
}

/** The page's events. Throws `invalid_request` for a cursor past the end, `internal` when anything was changed. */
export function openPage(page: Page, ask: PageAsk, codec: TurnCodec): Opened<TurnEvent> {
  checkPlace(page, ask);
  let mac = page.previousMac ?? new Uint8Array(0);
  return inOrder(page, ask, (record, seq) => {
    const body = decodeRecord(codec.decode(record, mac), seq, mac);
    mac = record.mac;
    return { ...body, eventId: eventIdOf(seq), atMs: record.atMs };
  });
}

/** Opens the gateway's outlines of the events of a turn that its client sealed. Throws as `openPage` does. */
export function openOutline(page: Page, ask: PageAsk, codec: OutlineCodec): Opened<OutlinedEvent> {
  checkPlace(page, ask);
  return inOrder(page, ask, (record, seq) => {
    const eventId = eventIdOf(seq);
    const { atMs, outline } = record;
    if (outline.length === 0) return { type: "unknown", eventId, atMs };
    return { ...decodeOutline(record.kind, codec.open(record)), eventId, atMs };
  });
}

function checkPlace({ row, previousMac }: Page, { afterSeq }: PageAsk): void {
  if (afterSeq > row.lastSeq) throw pastTheEnd();
  if (afterSeq > 0 && previousMac === undefined) throw damagedLog();
}

/** Every record of the page. No record may be missing: the page is shorter than requested only if it is full. */
function inOrder<E>(
  { row, events: records, full }: Page,
  { afterSeq, limit }: PageAsk,
  open: (record: EventRow, seq: number) => E,
): Opened<E> {
  const asked = Math.min(limit, row.lastSeq - afterSeq);
  const isWhole = records.length === asked || (full && records.length > 0 && records.length < asked);
  if (!isWhole) throw damagedLog();
  const events = records.map((record, index) => {
    const seq = afterSeq + index + 1;
    if (record.seq !== seq) throw damagedLog();
    return open(record, seq);
  });
  return { events, ended: row.outcome !== undefined && afterSeq + records.length === row.lastSeq };
}

export function pastTheEnd(): MillraceError {
  return new MillraceError("invalid_request", "The cursor is beyond the last event of this turn.", {
    hint: 'Send back the id of an event that this turn sent, or "0" to read from the start.',
  });
}
