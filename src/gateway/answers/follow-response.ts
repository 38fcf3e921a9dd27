import { MillraceError } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import type { TurnRecord } from "../../log/store.ts";
import type { EncodeContext, WireEvent } from "../dialects/dialect.ts";
import { openAiResponses } from "../dialects/openai-responses/encode.ts";
import type { GatewayContext, TurnParts } from "../http/context.ts";
import type { Reply } from "../http/reply.ts";
import { keptHeaders } from "../http/route-headers.ts";
import { storedContext } from "./start-turn.ts";
import { streamTurn } from "./stream-turn.ts";
import { handedOut, parseCursor, type WireCursor } from "./wire-cursor.ts";

/**
 * `GET /v1/responses/{id}?stream=true`: all events, those after `starting_after`, or those after `Last-Event-ID`. If both are present, `Last-Event-ID` is newer: a client that reconnects automatically repeats its URL.
 */
export async function followResponse(parts: TurnParts, c: GatewayContext, record: TurnRecord): Promise<Reply> {
  const context = storedContext(parts, c, record, true);
  const { turnId } = record;
  const resumed = resumedAt(c, record);
  const stream = {
    turnId,
    reader: parts.turns.open(turnId, startOfLog, c.signal),
    encoder: openAiResponses.encoder(context),
    resumeAfter: resumed ?? (await startedAfter(parts, c, { context, record })),
    sinceMs: parts.clock.now(),
    isRest: resumed !== undefined && record.ended,
  };
  return streamTurn(parts, c, stream, keptHeaders(record));
}

/** @throws MillraceError `invalid_request` for a `Last-Event-ID` that is none of this response's. */
function resumedAt(c: GatewayContext, record: TurnRecord): WireCursor | undefined {
  const text = c.header("last-event-id")?.trim();
  if (!text) return undefined;
  const cursor = parseCursor(text);
  if (cursor?.turnId === record.turnId) {
    handedOut(cursor.eventId, record, "last-event-id");
    return cursor;
  }
  throw new MillraceError("invalid_request", "Last-Event-ID belongs to another response.", {
    param: "last-event-id",
    hint: "Send the `id` of the last event that you have processed, or leave the header out to get all events.",
  });
}

/**
 * The place of `starting_after`, found in the events that the log holds by now.
 *
 * @throws MillraceError `invalid_request` for a value that is not a number, or that no event has had yet.
 */
async function startedAfter(
  parts: TurnParts,
  c: GatewayContext,
  { context, record }: { readonly context: EncodeContext; readonly record: TurnRecord },
): Promise<WireCursor | undefined> {
  const after = c.query("starting_after");
  if (after === undefined || after === "") return undefined;
  if (!/^\d{1,9}$/.test(after)) {
    throw new MillraceError("invalid_request", "starting_after must be the sequence_number of an event.", {
      param: "starting_after",
    });
  }
  const encoder = openAiResponses.encoder(context);
  const placeIn = (events: readonly WireEvent[]) => events.findIndex(({ number }) => number === Number(after));
  const { turnId, lastEventId } = record;
  const opening = placeIn(encoder.open());
  if (opening >= 0) return { turnId, eventId: startOfLog, part: opening };
  if (lastEventId !== startOfLog) {
    for await (const event of parts.turns.follow(turnId, startOfLog, c.signal)) {
      const part = placeIn(encoder.encode(event));
      if (part >= 0) return { turnId, eventId: event.eventId, part };
      if (event.eventId >= lastEventId) break;
    }
  }
  throw new MillraceError("invalid_request", "This response has no event of this number.", {
    param: "starting_after",
    hint: "Leave it out to get all events. An event can be lost if its gateway died before it was stored.",
  });
}
