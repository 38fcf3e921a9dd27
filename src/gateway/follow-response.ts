import { MillraceError } from "../base/errors.ts";
import { startOfLog } from "../base/ids.ts";
import type { TurnRecord } from "../log/store.ts";
import type { Gateway, GatewayContext } from "./context.ts";
import { parseCursor } from "./cursor.ts";
import type { Encoder } from "./dialects/dialect.ts";
import { openAiResponses } from "./dialects/openai-responses/dialect.ts";
import { SuffixEncoder } from "./dialects/openai-responses/snapshot.ts";
import { noteResumption } from "./note-resumption.ts";
import { PatientReader } from "./patient-reader.ts";
import { pulledBody, sseHeaders } from "./sse-body.ts";
import { contextOf, sizeOf } from "./start-turn.ts";
import { streamTurn } from "./stream-turn.ts";

/** `GET /v1/responses/{id}?stream=true`: all events, or those after `starting_after` (with what they need to be understood) or `Last-Event-ID`. */
export function followResponse(gateway: Gateway, c: GatewayContext, record: TurnRecord): Response {
  const context = contextOf(
    c,
    record,
    { request: record.request, stream: true, wire: record.wire },
    sizeOf(gateway, record),
  );
  const encoder = openAiResponses.encoder(context);
  const suffix = suffixOf(c, encoder);
  const controller = new AbortController();
  const signal = AbortSignal.any([c.req.raw.signal, controller.signal]);
  const reader = new PatientReader(gateway.turns.read(record.turnId, startOfLog, signal), gateway.clock, signal);
  const cursor = parseCursor(c.req.header("last-event-id") ?? "");
  const own = cursor?.turnId === record.turnId ? cursor : undefined;
  const sequence = suffix === undefined ? undefined : `#${c.req.query("starting_after")}`;
  noteResumption(gateway, c.req.raw.headers, record.turnId, "cursor", sequence ?? own?.eventId);
  const texts = streamTurn(
    {
      turns: gateway.turns,
      turnId: record.turnId,
      reader,
      early: [],
      encoder: suffix ?? encoder,
      // A suffix begins with an event of its own: its places are not those of the whole stream.
      ...(suffix === undefined ? {} : { writeId: () => undefined }),
      resumeAfter: own,
      sinceMs: gateway.clock.now(),
      timing: gateway.waits,
      clock: gateway.clock,
      metrics: gateway.metrics,
      onError: ({ code }) => gateway.log.write("warn", "stream broke", { turnId: record.turnId, code }),
    },
    signal,
  );
  return new Response(pulledBody(texts, controller), { headers: { ...sseHeaders, "x-millrace-turn": record.turnId } });
}

/** @throws MillraceError `invalid_request` for a `starting_after` that is no number. */
function suffixOf(c: GatewayContext, encoder: Encoder): Encoder | undefined {
  const after = c.req.query("starting_after");
  if (after === undefined || after === "") return undefined;
  if (!/^\d{1,9}$/.test(after)) {
    throw new MillraceError("invalid_request", "starting_after must be the sequence_number of an event.", {
      param: "starting_after",
    });
  }
  return new SuffixEncoder(encoder, Number(after));
}
