import type { Clock } from "../../base/clock.ts";
import { type ErrorRecord, MillraceError, toMillraceError } from "../../base/errors.ts";
import type { EventId, TurnId } from "../../base/ids.ts";
import { isTerminal, type TurnEvent } from "../../log/event.ts";
import type { QueuePlace } from "../../turns/start/turn-queue.ts";
import type { Turns } from "../../turns/turns.ts";
import type { Encoder, WireEvent } from "../dialects/dialect.ts";
import { LastText, type Texts, writeSse } from "../http/sse-body.ts";
import { isAnswering, lookAgainMs, type Timing } from "../http/timing.ts";
import type { GatewayMetrics, StreamOutcome } from "../metrics/metrics.ts";
import { isBefore, type WireCursor, writeCursor } from "./cursor.ts";
import type { NextReading, PatientReader } from "./patient-reader.ts";

/** The error for a log that stops without a terminal event: the answer is not complete. */
export function endedEarly(): ErrorRecord {
  return new MillraceError("upstream_failed", "The answer ended too early.").toRecord();
}

/** The input of streaming a turn. `early`: events already read from `reader`. */
export interface StreamTurn {
  readonly turns: Pick<Turns, "lastAliveAtMs" | "placeInQueue">;
  readonly turnId: TurnId;
  readonly reader: PatientReader;
  readonly early: readonly TurnEvent[];
  readonly encoder: Encoder;
  readonly resumeAfter: WireCursor | undefined;
  /** Sent first, under the cursor's own id: what a reader needs to resume there. */
  readonly snapshot?: WireEvent;
  /** When its reader came, epoch ms: older events are replayed, and say nothing of how fast new ones are handed on. */
  readonly sinceMs: number;
  /** The `id:` of each wire event; a dialect's cursor by default. */
  readonly writeId?: (eventId: EventId | undefined, part: number) => string;
  readonly timing: Timing;
  readonly clock: Clock;
  readonly metrics: GatewayMetrics;
  readonly onError: (error: MillraceError) => void;
}

/**
 * A turn as server-sent events of its dialect: one text for each log event, each wire event with its cursor as `id:`. An event
 * that no log holds repeats the id before it, so that it moves no cursor. In silence the dialect's no-op event is sent, as long
 * as the upstream is known alive. Ends after the terminal event, or with an error of the dialect when the log cannot be read
 * to it. Source: docs/wire/clients.md, "Silence and repeats".
 */
export async function* streamTurn(options: StreamTurn, signal: AbortSignal): Texts {
  const { reader, encoder, turnId, timing, clock } = options;
  const { resumeAfter, snapshot, writeId = (eventId, part) => writeCursor(turnId, eventId, part) } = options;
  let lastId = writeId(resumeAfter?.eventId, resumeAfter?.part ?? 0);
  const write = (events: readonly WireEvent[], eventId: EventId | undefined) => {
    let text = "";
    for (const [part, event] of events.entries()) {
      if (resumeAfter !== undefined && isBefore(eventId, part, resumeAfter)) continue;
      lastId = writeId(eventId, part);
      text += writeSse(event, lastId);
    }
    return text;
  };
  const repeat = (events: readonly WireEvent[]) => events.map((event) => writeSse(event, lastId)).join("");
  let beatAt = clock.monotonic() + timing.heartbeatMs;
  let outcome: StreamOutcome = "left";
  options.metrics.streamOpened();
  try {
    const opening = (snapshot === undefined ? "" : repeat([snapshot])) + write(encoder.open(), undefined);
    if (opening !== "") yield opening;
    for (let at = 0; ; at++) {
      const early = options.early[at];
      const reading: NextReading =
        early === undefined
          ? await reader.next(Math.max(0, beatAt - clock.monotonic()))
          : { type: "event", event: early };
      if (reading.type === "ended") {
        outcome = "failed";
        yield repeat(encoder.broken(endedEarly()));
        return;
      }
      if (reading.type === "event") {
        const { event } = reading;
        const text = write(encoder.encode(event), event.eventId);
        if (text !== "") {
          countLag(options, event);
          yield isTerminal(event) ? new LastText(text) : text;
          beatAt = clock.monotonic() + timing.heartbeatMs;
        }
        if (isTerminal(event)) {
          outcome = event.type;
          await reader.handedOver();
          return;
        }
      } else if (isAnswering(options.turns.lastAliveAtMs(turnId), clock, timing)) {
        const text = spellPlace(options.turns.placeInQueue(turnId)) + repeat(encoder.heartbeat());
        options.metrics.heartbeat();
        if (text !== "") yield text;
        beatAt = clock.monotonic() + timing.heartbeatMs;
      } else beatAt = clock.monotonic() + lookAgainMs;
    }
  } catch (error) {
    if (signal.aborted) return; // the reader has disconnected and would not get the error
    const ours = toMillraceError(error);
    outcome = "failed";
    options.onError(ours);
    yield repeat(encoder.broken(ours.toRecord()));
  } finally {
    options.metrics.streamEnded(outcome);
    await reader.close();
  }
}

/** A comment before the no-op event, which no client takes for anything. Source: WHATWG HTML, 9.2. */
function spellPlace(place: QueuePlace | undefined): string {
  return place === undefined ? "" : `: waiting, position ${place.position} of ${place.of} in the queue\n\n`;
}

function countLag({ metrics, clock, sinceMs }: StreamTurn, event: TurnEvent): void {
  const isDelta = event.type === "text" || event.type === "thinking" || event.type === "tool_call";
  if (isDelta && event.atMs >= sinceMs) metrics.deltaHanded(clock.now() - event.atMs);
}
