import { isMillraceError, MillraceError, toMillraceError } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import type { IdeToolNames, TurnEvent } from "../../log/event.ts";
import { deliver } from "../answers/deliver.ts";
import { PatientReader } from "../answers/patient-reader.ts";
import { tellSpentKey } from "../answers/spent-key.ts";
import { type OpenTurn, startTurn } from "../answers/start-turn.ts";
import { endedEarly, streamTurn } from "../answers/stream-turn.ts";
import { type AnswerEnd, AnswerFold } from "../dialects/answer.ts";
import { encoderForClient, forClient } from "../dialects/by-client.ts";
import { cancelledError } from "../dialects/cancelled.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { type Gateway, type GatewayContext, jsonHeaders, respond, respondError } from "../http/context.ts";
import { headerSafe } from "../http/request-headers.ts";
import { pulledBody, restOfStream, sseHeaders } from "../http/sse-body.ts";
import type { Route } from "./route.ts";

/** The handler of a dialect: turn started or joined, answer out, streamed or whole. */
export function turnRoute(dialect: Dialect): Route["handle"] {
  return (gateway, c, { json }) => answerTurn(gateway, c, dialect, json);
}

/** Starts or joins the turn of a body, and answers it. Throws what the dialect throws for a body that it cannot read. */
export async function answerTurn(
  gateway: Gateway,
  c: GatewayContext,
  dialect: Dialect,
  body: unknown,
): Promise<Response> {
  const turn = await startTurn(gateway, c, { dialect, parsed: dialect.parse(body), body });
  return answerOpenTurn(gateway, c, dialect, turn);
}

/** The answer of a turn, streamed or whole, as its request asks. */
export function answerOpenTurn(
  gateway: Gateway,
  c: GatewayContext,
  dialect: Dialect,
  turn: OpenTurn,
): Promise<Response> {
  return turn.context.parsed.stream
    ? streamedAnswer(gateway, c, dialect, turn)
    : wholeAnswer(gateway, c, dialect, turn);
}

/**
 * The answer as a stream. A failure among the first events is answered with its status; after `commitMs` without one
 * the stream opens, so that heartbeats can flow.
 */
async function streamedAnswer(
  gateway: Gateway,
  c: GatewayContext,
  dialect: Dialect,
  turn: OpenTurn,
): Promise<Response> {
  const sinceMs = gateway.clock.now();
  const controller = new AbortController();
  const signal = AbortSignal.any([c.req.raw.signal, controller.signal]);
  const reader = readerOf(gateway, turn, signal);
  let early: readonly TurnEvent[];
  try {
    early = await firstEvents(gateway, reader);
  } catch (error) {
    controller.abort();
    await reader.close();
    throw error;
  }
  const last = early.at(-1);
  if (last?.type === "failed" && turn.resumeAfter === undefined) {
    await reader.delivered();
    await reader.close();
    const error = MillraceError.fromRecord(last.error);
    return failedAnswer(c, dialect, turn, { error, started: startedOf(early), ideTools: ideToolsOf(last) });
  }
  const texts = streamTurn(
    {
      turns: gateway.turns,
      turnId: turn.turnId,
      reader,
      early,
      encoder: encoderForClient(dialect.encoder(turn.context), c.req.raw.headers.get("user-agent")),
      resumeAfter: turn.resumeAfter,
      sinceMs,
      timing: gateway.waits,
      clock: gateway.clock,
      metrics: gateway.metrics,
      onError: (error) => {
        gateway.log.write("warn", "stream broke", {
          requestId: c.var.requestId,
          turnId: turn.turnId,
          code: error.code,
        });
      },
    },
    signal,
  );
  const headers = { ...sseHeaders, ...headersOf(turn, startedOf(early), ideToolsOf(last)) };
  if (turn.resumeAfter !== undefined && turn.record.ended) return restOfStream(texts, controller, headers);
  return new Response(pulledBody(texts, controller), { headers });
}

/** Reads the events of a turn. A failure says that its key is spent. */
function readerOf({ turns, clock }: Gateway, turn: OpenTurn, signal: AbortSignal): PatientReader {
  const { turnId, record, joined, handOver } = turn;
  const key = { isGiven: record?.idempotencyKey !== undefined, isRepeat: joined === "key" };
  const tell = (event: TurnEvent) => tellSpentKey(event, key);
  return new PatientReader(turns.read(turnId, startOfLog, signal), { clock, signal, handOver, tell });
}

/** Events up to the first that says how the turn goes, within `commitMs`. */
async function firstEvents(gateway: Gateway, reader: PatientReader): Promise<readonly TurnEvent[]> {
  const events: TurnEvent[] = [];
  const until = gateway.clock.monotonic() + gateway.waits.commitMs;
  for (;;) {
    const reading = await reader.next(Math.max(0, until - gateway.clock.monotonic()));
    if (reading.type !== "event") return events;
    events.push(reading.event);
    if (reading.event.type !== "started" && reading.event.type !== "usage") return events;
  }
}

/** The whole answer as one body, once the turn has ended. */
async function wholeAnswer(gateway: Gateway, c: GatewayContext, dialect: Dialect, turn: OpenTurn): Promise<Response> {
  const controller = new AbortController();
  const signal = AbortSignal.any([c.req.raw.signal, controller.signal]);
  const reader = readerOf(gateway, turn, signal);
  const { answer, started } = await readAnswer(reader, turn);
  if (answer.end?.type === "finished") {
    const text = JSON.stringify(dialect.encodeAnswer(turn.context, answer));
    const length = String(Buffer.byteLength(text));
    const headers = {
      ...jsonHeaders,
      "content-length": length,
      ...headersOf(turn, started, ideToolsOf(answer.end)),
    };
    return new Response(pulledBody(deliver(text, reader), controller), { headers });
  }
  await reader.delivered();
  await reader.close();
  const { end } = answer;
  const record = end === undefined ? endedEarly() : end.type === "failed" ? end.error : cancelledError(end.by);
  const error = MillraceError.fromRecord(record);
  return failedAnswer(c, dialect, turn, { error, started, ideTools: ideToolsOf(end) });
}

/** Everything up to the terminal event. */
async function readAnswer(reader: PatientReader, turn: OpenTurn) {
  const fold = new AnswerFold(turn.context.parsed.request);
  let started: Started | undefined;
  while (fold.answer.end === undefined) {
    const reading = await reader.next(Number.POSITIVE_INFINITY);
    if (reading.type !== "event") break;
    started ??= startedOf([reading.event]);
    fold.push(reading.event);
  }
  return { answer: fold.answer, started };
}

/** Where the prompt went; undefined as long as no conversation exists upstream. */
function startedOf(events: readonly TurnEvent[]): Started | undefined {
  return events.find((event) => event.type === "started");
}

type Started = Extract<TurnEvent, { readonly type: "started" }>;

interface Failure {
  readonly error: MillraceError;
  readonly started: Started | undefined;
  readonly ideTools: IdeToolNames | undefined;
}

/**
 * A failed turn as a status. Once the conversation existed upstream, the prompt may have cost credits, so a header tells
 * the SDKs not to retry. Source: docs/wire/clients.md, "HTTP and model lists".
 */
function failedAnswer(
  c: GatewayContext,
  dialect: Dialect,
  turn: OpenTurn,
  { error, started, ideTools }: Failure,
): Response {
  c.var.logFields.code = error.code;
  const record = error.toRecord();
  const response = respond(
    forClient(dialect.encodeError(record, c.var.requestId), record, c.req.raw.headers.get("user-agent")),
  );
  for (const [name, value] of Object.entries(headersOf(turn, started, ideTools))) response.headers.set(name, value);
  if (started !== undefined && response.status >= 500) response.headers.set("x-should-retry", "false");
  return response;
}

/** The tools that the IDE's agent used, if the turn has ended. */
function ideToolsOf(event: TurnEvent | AnswerEnd | undefined): IdeToolNames | undefined {
  return event?.type === "finished" || event?.type === "failed" ? event.ideTools : undefined;
}

function headersOf(
  turn: OpenTurn,
  started: Started | undefined,
  ideTools: IdeToolNames | undefined,
): Readonly<Record<string, string>> {
  const continuity = turn.continuity();
  return {
    ...turn.headers,
    ...(started === undefined ? {} : { "x-millrace-backend": started.backend }),
    ...(started?.ide === undefined ? {} : { "x-millrace-ide": headerSafe(started.ide) }),
    ...(ideTools === undefined ? {} : { "x-millrace-ide-tools": headerSafe(ideTools.join(", ")) }),
    ...(continuity === undefined ? {} : { "x-millrace-continuity": headerSafe(continuity) }),
  };
}

/** Turns an error that a route throws into its API's error. */
export function onRouteError(gateway: Gateway): (error: Error, c: GatewayContext) => Response {
  return (error, c) => {
    const left = c.req.raw.signal.aborted; // an ordinary end
    if (!isMillraceError(error)) {
      gateway.log.write(left ? "debug" : "error", left ? "client left" : "unexpected error", {
        requestId: c.var.requestId,
        error: error.stack ?? error.message,
      });
    }
    if (left) return respondError(c, new MillraceError("cancelled", "The client went away."));
    return respondError(c, toMillraceError(error));
  };
}
