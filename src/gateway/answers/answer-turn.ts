import { bestEffort, within } from "../../base/async.ts";
import type { ErrorRecord } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import type { IdeToolNames, TurnEvent } from "../../log/event.ts";
import type { TurnRequest } from "../../log/request.ts";
import type { TurnRecord } from "../../log/store.ts";
import type { TurnReader } from "../../turns/turns.ts";
import { type Answer, AnswerFold } from "../dialects/answer.ts";
import { clientName, encoderForClient } from "../dialects/by-client.ts";
import { cancelledError } from "../dialects/cancelled.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { type Gateway, type GatewayContext, respond } from "../http/context.ts";
import { jsonResponse, type Reply } from "../http/reply.ts";
import { headerSafe } from "../http/request-headers.ts";
import { tellSpentKey } from "./spent-key.ts";
import { type OpenTurn, startTurn } from "./start-turn.ts";
import { endedEarly, streamTurn } from "./stream-turn.ts";

type StartedEvent = Extract<TurnEvent, { readonly type: "started" }>;

/** Starts or joins the turn of a body, and answers it. Throws what the dialect throws for a body that it cannot read. */
export async function answerTurn(gateway: Gateway, c: GatewayContext, dialect: Dialect, body: unknown): Promise<Reply> {
  const turn = await startTurn(gateway, c, { dialect, parsed: dialect.parse(body), body });
  return answerOpenTurn(gateway, c, dialect, turn);
}

/** The answer of a turn, streamed or whole, as its request asks. */
export function answerOpenTurn(gateway: Gateway, c: GatewayContext, dialect: Dialect, turn: OpenTurn): Promise<Reply> {
  return turn.context.parsed.stream ? streamed(gateway, c, dialect, turn) : whole(gateway, c, dialect, turn);
}

/**
 * The answer as a stream. A failure among the first events is answered with its status; after `commitMs` without one
 * the stream opens, so that heartbeats can flow.
 */
async function streamed(gateway: Gateway, c: GatewayContext, dialect: Dialect, turn: OpenTurn): Promise<Reply> {
  const { turnId, resumeAfter } = turn;
  const sinceMs = gateway.clock.now();
  const { reader, events } = await firstEvents(gateway, readerOf(gateway, c, turn));
  const started = events.find((event) => event.type === "started");
  const first = events.find(({ type }) => type !== "started" && type !== "usage");
  if (first?.type === "failed" && resumeAfter === undefined) {
    await bestEffort(reader.close(true));
    return failedReply(c, dialect, turn, { error: first.error, started, ideTools: first.ideTools });
  }
  const encoder = encoderForClient(dialect.encoder(turn.context), clientName(c.headers));
  const isRest = resumeAfter !== undefined && turn.record.ended;
  const headers = headersOf(turn, started, first?.type === "finished" ? first.ideTools : undefined);
  const { framing } = dialect;
  return streamTurn(gateway, c, { turnId, reader, encoder, framing, resumeAfter, sinceMs, isRest }, headers);
}

/** Events up to the first that says how the turn goes, if it comes within `commitMs`; the reader given back reads them again. */
async function firstEvents({ clock, waits }: Gateway, reader: TurnReader) {
  const events: TurnEvent[] = [];
  const reads: ReturnType<TurnReader["next"]>[] = [];
  const until = clock.monotonic() + waits.commitMs;
  try {
    while (events.every(({ type }) => type === "started" || type === "usage")) {
      const read = reader.next();
      read.catch(() => {}); // if the client leaves first, nobody awaits it
      reads.push(read);
      const more = await within(read, Math.max(0, until - clock.monotonic()), clock);
      if (more === undefined) break; // too late, or there are no more
      events.push(...more);
    }
  } catch (error) {
    await bestEffort(reader.close(false));
    throw error;
  }
  return { events, reader: { ...reader, next: () => reads.shift() ?? reader.next() } };
}

/** The whole answer as one body, once the turn has ended. */
async function whole(gateway: Gateway, c: GatewayContext, dialect: Dialect, turn: OpenTurn): Promise<Reply> {
  const reader = readerOf(gateway, c, turn);
  const { answer, started } = await readAnswer(reader, turn.context.parsed.request);
  const { end } = answer;
  const ideTools = end?.type === "finished" || end?.type === "failed" ? end.ideTools : undefined;
  if (end?.type === "finished") {
    const headers = headersOf(turn, started, ideTools);
    return jsonResponse(dialect.encodeAnswer(turn.context, answer), 200, headers, reader.close);
  }
  await bestEffort(reader.close(true));
  const error = end === undefined ? endedEarly() : end.type === "failed" ? end.error : cancelledError(end.by);
  return failedReply(c, dialect, turn, { error, started, ideTools });
}

/** Everything up to the terminal event, and where the prompt went. Closes the reader if reading fails. */
export async function readAnswer(
  reader: TurnReader,
  request: TurnRequest,
): Promise<{ readonly answer: Answer; readonly started: StartedEvent | undefined }> {
  const fold = new AnswerFold(request);
  let started: StartedEvent | undefined;
  try {
    for (let events = await reader.next(); events !== undefined; events = await reader.next()) {
      for (const event of events) {
        if (event.type === "started") started ??= event;
        fold.push(event);
      }
      if (fold.answer.end !== undefined) break;
    }
  } catch (error) {
    await bestEffort(reader.close(false));
    throw error;
  }
  return { answer: fold.answer, started };
}

/** Reads the events of a turn. A failure says that its key is spent. */
function readerOf({ turns }: Gateway, { signal }: GatewayContext, { turnId, record, joined }: OpenTurn): TurnReader {
  const reader = turns.open(turnId, startOfLog, signal);
  if (record.idempotencyKey === undefined) return reader;
  const key = { isGiven: true, isRepeat: joined === "key" };
  return { ...reader, next: async () => (await reader.next())?.map((event) => tellSpentKey(event, key)) };
}

interface Failure {
  readonly error: ErrorRecord;
  readonly started: StartedEvent | undefined;
  readonly ideTools: IdeToolNames | undefined;
}

/**
 * A failed turn as a status. Once the conversation existed upstream, the prompt may have cost credits, so a header tells
 * the SDKs not to retry. Source: docs/wire/clients.md, "HTTP and model lists".
 */
function failedReply(
  c: GatewayContext,
  dialect: Dialect,
  turn: OpenTurn,
  { error, started, ideTools }: Failure,
): Reply {
  c.logFields.code = error.code;
  const reply = respond(c, (record, id) => dialect.encodeError(record, id), error);
  Object.assign(reply.headers, headersOf(turn, started, ideTools));
  if (started !== undefined && reply.status >= 500) reply.headers["x-should-retry"] = "false";
  return reply;
}

function headersOf(
  turn: OpenTurn,
  started: StartedEvent | undefined,
  ideTools: IdeToolNames | undefined,
): Readonly<Record<string, string>> {
  const continuity = turn.continuity();
  return {
    ...turn.headers,
    ...(started === undefined ? {} : { "x-millrace-backend": started.backend }),
    ...(started?.ide === undefined ? {} : { "x-millrace-ide": headerSafe(started.ide) }),
    ...(started === undefined || !canCall(turn.record) ? {} : { "x-millrace-tools": started.tools ?? "prose" }),
    ...(ideTools === undefined ? {} : { "x-millrace-ide-tools": headerSafe(ideTools.join(", ")) }),
    ...(continuity === undefined ? {} : { "x-millrace-continuity": headerSafe(continuity) }),
  };
}

function canCall({ request: { tools, toolChoice } }: TurnRecord): boolean {
  return tools.length > 0 && toolChoice.type !== "none";
}
