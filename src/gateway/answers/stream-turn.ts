import type { ServerResponse } from "node:http";
import { bestEffort, notNeeded } from "../../base/async.ts";
import { type ErrorRecord, MillraceError, toMillraceError } from "../../base/errors.ts";
import type { EventId, TurnId } from "../../base/ids.ts";
import { ownTurn } from "../../base/node/unhurried.ts";
import { isTerminal, type TurnEvent } from "../../log/event.ts";
import type { QueuePlace } from "../../turns/queue.ts";
import type { TurnReader } from "../../turns/turns.ts";
import { clientName, streamErrorForClient } from "../dialects/by-client.ts";
import type { Dialect, Encoder, WireEvent } from "../dialects/dialect.ts";
import type { GatewayContext, TurnParts } from "../http/context.ts";
import { drained, linesHeaders, type Reply, sseHeaders, writeSse } from "../http/reply.ts";
import { isAnswering, lookAgainMs } from "../http/timing.ts";
import type { StreamOutcome } from "../metrics/metrics.ts";
import { isBefore, type WireCursor, writeCursor } from "./wire-cursor.ts";

/** The error for a log that stops without a terminal event: the answer is not complete. */
export function endedEarly(): ErrorRecord {
  return new MillraceError("upstream_failed", "The answer ended too early.").toRecord();
}

/** A turn that is streamed to one reader. */
export interface StreamOptions {
  readonly turnId: TurnId;
  readonly reader: TurnReader;
  readonly encoder: Encoder;
  /** As the dialect's. */
  readonly framing?: Dialect["framing"] | undefined;
  readonly resumeAfter?: WireCursor | undefined;
  /** The wire events have no `id:`. */
  readonly hasNoIds?: boolean;
  /** The `id:` of each event of a turn's own events; else the events are those of a dialect, with its cursors. */
  readonly writeId?: (eventId: EventId | undefined, part: number) => string;
  /** When its reader came, epoch ms: older events are replayed, and say nothing of how fast new ones are handed on. */
  readonly sinceMs: number;
  /**
   * The turn had ended before its reader came back. If no event is left, the status is 204: unlike an empty stream, it stops a client
   * that reconnects automatically. Source: WHATWG HTML, 9.2.
   */
  readonly isRest?: boolean;
  /** Reads of `reader` that have begun: they come first. */
  readonly begun?: ReturnType<TurnReader["next"]>[];
  /** A failure as this client is told it; as it is by default. */
  readonly tell?: (failure: FailedEvent) => FailedEvent;
}

/** In characters. After a piece that is larger others have their turn: to write a megabyte takes some milliseconds. */
const largePiece = 256 * 1024;

type FailedEvent = Extract<TurnEvent, { readonly type: "failed" }>;

/**
 * A turn as server-sent events of its dialect, each wire event with its cursor as `id:`. In silence the dialect's no-op event is sent, as
 * long as the upstream is known alive. Ends after the terminal event, or with an error of the dialect when the log cannot be read to it.
 * A slow client slows only its own reader. Source: docs/dev/wire/clients.md, "Silence and repeats".
 */
export async function streamTurn(
  parts: TurnParts,
  c: GatewayContext,
  turn: StreamOptions,
  headers: Readonly<Record<string, string>>,
): Promise<Reply> {
  const { reader } = turn;
  const text = new StreamText(turn, parts, clientName(c.headers));
  let first: string;
  try {
    first = text.opening() + (turn.isRest === true ? await readRest(turn, text) : "");
  } catch (error) {
    await bestEffort(reader.close(false)); // else the turn would have this reader for ever
    throw error;
  }
  const done = (isTaken: boolean) => {
    const isRead = isTaken || text.isCut;
    parts.metrics.streamEnded(isRead ? text.outcome : "left");
    return reader.close(isRead && text.isWhole);
  };
  if (turn.isRest === true && first === "" && text.failure === "")
    return { status: 204, headers: { ...headers }, done: () => reader.close(true) };
  parts.metrics.streamOpened();
  const body = (response: ServerResponse) => flow(parts, c, { turn, text, first }, response);
  const framed = turn.framing === undefined ? sseHeaders : linesHeaders(turn.framing);
  return { status: 200, headers: { ...framed, ...headers }, body, done };
}

/** The first text of a turn that has ended; empty where none is left. */
async function readRest(turn: StreamOptions, text: StreamText): Promise<string> {
  for (let more = await next(turn); more !== undefined; more = await next(turn)) {
    const first = [...text.take(more)].join("");
    if (first !== "" || text.isWhole) return first;
  }
  return "";
}

function next({ begun, reader }: StreamOptions): ReturnType<TurnReader["next"]> {
  return begun?.shift() ?? reader.next();
}

async function flow(
  parts: TurnParts,
  c: GatewayContext,
  { turn, text, first }: { readonly turn: StreamOptions; readonly text: StreamText; readonly first: string },
  response: ServerResponse,
): Promise<void> {
  const { clock, waits, metrics, log } = parts;
  const over = new AbortController();
  let beatAt = clock.monotonic() + waits.heartbeatMs;
  let isFull = false;
  const beat = async () => {
    for (;;) {
      const ms = beatAt - clock.monotonic();
      if (ms > 0) await clock.sleep(ms, over.signal);
      else if (!isFull && isAnswering(parts.turns.lastAliveAtMs(turn.turnId), clock, waits)) {
        metrics.heartbeat();
        response.write(text.heartbeat(parts.turns.placeInQueue(turn.turnId)));
        beatAt = clock.monotonic() + waits.heartbeatMs;
      } else beatAt = clock.monotonic() + lookAgainMs;
    }
  };
  beat().catch(() => {}); // only its sleep rejects, once the stream is over
  const write = async (piece: string) => {
    if (piece === "") return;
    beatAt = clock.monotonic() + waits.heartbeatMs;
    text.wroteAt = clock.monotonic();
    isFull = !response.write(piece.length > largePiece ? Buffer.from(piece) : piece); // a text is gone through twice
    if (isFull) await drained(response);
    isFull = false;
  };
  try {
    for (let piece = first; ; ) {
      if (text.isWhole) return await end(parts, text, piece, response);
      await write(piece);
      const events = await next(turn);
      if (events === undefined) break;
      piece = "";
      for (const more of text.take(events)) {
        if (piece.length + more.length > largePiece) {
          await write(piece);
          await ownTurn();
          piece = "";
        }
        piece += more;
      }
    }
    text.breakOff(endedEarly());
    await end(parts, text, "", response);
  } catch (error) {
    if (c.signal.aborted) return; // the reader has disconnected and would not get the error
    const ours = toMillraceError(error);
    log.write("warn", "stream broke", { requestId: c.requestId, turnId: turn.turnId, code: ours.code });
    text.breakOff(ours.toRecord());
    await end(parts, text, "", response);
  } finally {
    over.abort(notNeeded);
  }
}

/**
 * Ends a stream: with its last piece, or with its failure. A failure comes apart from the text before it, because Anthropic's SDK drops
 * the events that it reads together with an error. A dialect's stream is then cut, a moment later: many clients take an orderly end for
 * a whole answer. Source: docs/dev/wire/clients.md, "Silence and repeats".
 */
async function end(parts: TurnParts, text: StreamText, piece: string, response: ServerResponse): Promise<void> {
  const { failure } = text;
  if (failure === "") return void response.end(piece);
  const apart = async () => {
    const ms = (text.wroteAt ?? Number.NEGATIVE_INFINITY) + parts.waits.errorApartMs - parts.clock.monotonic();
    if (ms > 0) await parts.clock.sleep(ms, new AbortController().signal);
  };
  if (piece !== "") {
    text.wroteAt = parts.clock.monotonic();
    if (!response.write(piece)) await drained(response);
  }
  await apart();
  if (!text.endsByCut) return void response.end(failure);
  await new Promise<void>((resolve) => {
    response.write(failure, () => resolve());
    response.once("close", resolve);
  });
  text.isCut = !response.destroyed;
  text.wroteAt = parts.clock.monotonic();
  await apart();
  response.destroy();
}

/** The text of one stream. An event that no log holds repeats the id before it, so that it moves no cursor. */
class StreamText {
  readonly #turn: StreamOptions;
  readonly #parts: Pick<TurnParts, "clock" | "metrics">;
  readonly #idOf: NonNullable<StreamOptions["writeId"]>;
  readonly #client: string | null;
  #lastId: string;
  outcome: StreamOutcome = "left";
  /** Whether it holds the terminal event. */
  isWhole = false;
  /** The error that ends it, as text; empty for none. */
  failure = "";
  /** Whether it was cut after its error, which the operating system has. */
  isCut = false;
  /** When text was written last, by the monotonic clock. */
  wroteAt: number | undefined;

  constructor(turn: StreamOptions, parts: Pick<TurnParts, "clock" | "metrics">, client: string | null) {
    const { turnId, resumeAfter } = turn;
    this.#turn = turn;
    this.#parts = parts;
    this.#client = client;
    this.#idOf = turn.writeId ?? ((eventId, part) => writeCursor(turnId, eventId, part));
    this.#lastId = this.#idOf(resumeAfter?.eventId, resumeAfter?.part ?? 0);
  }

  /** After a failure. The log of a turn is whole also if the turn failed. */
  get endsByCut(): boolean {
    return this.#turn.writeId === undefined;
  }

  opening(): string {
    return [...this.#write(this.#turn.encoder.open(), undefined)].join("");
  }

  /** The text of each wire event, which is written as it is asked for. */
  *take(events: readonly TurnEvent[]): Generator<string, void> {
    const { encoder } = this.#turn;
    for (const event of events) {
      const texts = this.#write(event.type === "failed" ? this.#failed(event) : encoder.encode(event), event.eventId);
      if (event.type === "failed" || event.type === "cancelled") this.failure = [...texts].join("");
      else {
        let count = 0;
        for (const text of texts) {
          if (++count === 1) this.#countLag(event);
          yield text;
        }
      }
      if (!isTerminal(event)) continue;
      this.outcome = event.type;
      this.isWhole = true;
    }
  }

  /** The no-op event. It tells the place of a turn that waits: a comment, or an event without data, ends the streams of some clients. */
  heartbeat(place: QueuePlace | undefined): string {
    const waiting = place && `waiting, position ${place.position} of ${place.of} in the queue`;
    return this.#repeat(this.#turn.encoder.heartbeat(waiting));
  }

  /** The log could not be read to its end. */
  breakOff(error: ErrorRecord): void {
    this.outcome = "failed";
    this.failure = this.#repeat(streamErrorForClient(this.#turn.encoder.broken(error), error, this.#client));
  }

  #failed(event: FailedEvent): readonly WireEvent[] {
    const { tell, encoder } = this.#turn;
    const told = tell?.(event) ?? event;
    return streamErrorForClient(encoder.encode(told), told.error, this.#client);
  }

  *#write(events: readonly WireEvent[], eventId: EventId | undefined): Generator<string, void> {
    const { resumeAfter } = this.#turn;
    for (const [part, event] of events.entries()) {
      if (resumeAfter !== undefined && isBefore(eventId, part, resumeAfter)) continue;
      this.#lastId = this.#idOf(eventId, part);
      yield this.#frame(event);
    }
  }

  #repeat(events: readonly WireEvent[]): string {
    return events.map((event) => this.#frame(event)).join("");
  }

  #frame(event: WireEvent): string {
    const { framing, hasNoIds } = this.#turn;
    return framing === undefined ? writeSse(event, hasNoIds === true ? undefined : this.#lastId) : `${event.data}\n`;
  }

  #countLag(event: TurnEvent): void {
    const { clock, metrics } = this.#parts;
    const isDelta = event.type === "text" || event.type === "thinking" || event.type === "tool_call";
    if (isDelta && event.atMs >= this.#turn.sinceMs) metrics.deltaHanded(clock.now() - event.atMs);
  }
}
