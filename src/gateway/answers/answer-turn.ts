import { bestEffort, within } from "../../base/async.ts";
import { type ErrorRecord, isMillraceError, MillraceError } from "../../base/errors.ts";
import { ideName } from "../../base/ide-name.ts";
import { startOfLog } from "../../base/ids.ts";
import type { IdeToolNames, TurnEvent } from "../../log/event.ts";
import type { TurnRequest } from "../../log/request.ts";
import { isUnknownTurn } from "../../log/rows.ts";
import type { TurnRecord } from "../../log/store.ts";
import type { Model } from "../../models/model.ts";
import { waitAfterFirst } from "../../turns/back-off.ts";
import { promptBudget } from "../../turns/prompt/layout.ts";
import type { TurnReader } from "../../turns/turns.ts";
import { failedUnsent } from "../../turns/twins.ts";
import { type Answer, AnswerFold } from "../dialects/answer.ts";
import type { Dialect, ParsedTurn } from "../dialects/dialect.ts";
import { failureOf, sizedError } from "../dialects/errors.ts";
import { type GatewayContext, respond, type TurnParts } from "../http/context.ts";
import { answerResponse, type Reply } from "../http/reply.ts";
import { headerSafe, isResumable } from "../http/request-headers.ts";
import { withPdfTexts } from "../pdf/pdf-parts.ts";
import { afterKept } from "./after-kept.ts";
import { emptyAnswer } from "./empty-answer.ts";
import { type OpenTurn, startTurn } from "./start-turn.ts";
import { endedEarly, streamTurn } from "./stream-turn.ts";

type StartedEvent = Extract<TurnEvent, { readonly type: "started" }>;
type FailedEvent = Extract<TurnEvent, { readonly type: "failed" }>;

/** Starts or joins the turn of a body, and answers it. Throws what the dialect throws for a body that it cannot read. */
export async function answerTurn(parts: TurnParts, c: GatewayContext, dialect: Dialect, body: unknown): Promise<Reply> {
  const parsed = await parseNamed(parts, c, body, (read) => dialect.parse(read));
  const empty = await emptyAnswer(parts, c, dialect, parsed);
  if (empty !== undefined) return empty;
  const turn = await startTurn(parts, c, { dialect, parsed, body });
  return answerOpenTurn(parts, c, dialect, turn);
}

/** What a dialect reads in a body, with texts for its PDFs. Where the body names no model, the hint of the error names some that it could. */
export async function parseNamed<T extends ParsedTurn>(
  { models, waits, clock, readPdf }: TurnParts,
  c: GatewayContext,
  body: unknown,
  parse: (body: unknown) => T,
): Promise<T> {
  const read = await withPdfTexts(body, readPdf);
  try {
    const parsed = parse(read.body);
    return { ...parsed, leftOut: [...(parsed.leftOut ?? []), ...read.leftOut] };
  } catch (error) {
    if (!isMillraceError(error) || error.code !== "invalid_request" || error.param !== "model") throw error;
    const list = models.list({ refresh: false }, c.signal).catch(() => []); // without an IDE the error stays as it is
    const callable = ((await within(list, waits.commitMs, clock)) ?? []).filter(isCallableByName);
    const [first, ...more] = callable.toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault));
    if (first === undefined) throw error;
    const names = [
      `\`${first.name}\`${first.isDefault ? " (the default)" : ""}`,
      ...more.slice(0, 2).map(({ name }) => `\`${name}\``),
    ];
    const hint = `Name one, such as ${names.join(", ")}. \`GET /v1/models\` lists all.`;
    throw new MillraceError("invalid_request", error.message, { param: "model", hint, cause: error });
  }
}

/** A vendor's slot (`MODEL_PRIVATE_2`) tells nobody what it is. */
function isCallableByName({ name, disabledReason }: Model): boolean {
  return disabledReason === undefined && !name.startsWith("MODEL_");
}

/** The answer of a turn, streamed or whole, as its request asks. */
export function answerOpenTurn(parts: TurnParts, c: GatewayContext, dialect: Dialect, turn: OpenTurn): Promise<Reply> {
  return turn.context.parsed.stream ? streamed(parts, c, dialect, turn) : whole(parts, c, dialect, turn);
}

/**
 * The answer as a stream. A failure among the first events is answered with its status; after `commitMs` without one
 * the stream opens, so that heartbeats can flow.
 */
async function streamed(parts: TurnParts, c: GatewayContext, dialect: Dialect, turn: OpenTurn): Promise<Reply> {
  const { turnId, resumeAfter } = turn;
  const sinceMs = parts.clock.now();
  const reader = afterKept(parts.turns.open(turnId, startOfLog, c.signal), turn.kept ?? "");
  const { events, begun } = await firstEvents(parts, reader);
  const started = events.find((event) => event.type === "started");
  const first = events.find(({ type }) => type !== "started" && type !== "usage");
  const tell = teller(parts, turn);
  if (first?.type === "failed" && resumeAfter === undefined) {
    await bestEffort(reader.close(true));
    return failedReply(c, dialect, turn, { error: tell(first).error, started, ideTools: first.ideTools });
  }
  const encoder = dialect.encoder(turn.context);
  const isRest = resumeAfter !== undefined && turn.record.ended;
  const headers = headersOf(turn, started, first?.type === "finished" ? first.ideTools : undefined);
  const { framing } = dialect;
  const hasNoIds = dialect.hasIdsForResuming === true && !isResumable(c.headers);
  const stream = { turnId, reader, begun, encoder, tell, framing, hasNoIds, resumeAfter, sinceMs, isRest };
  return streamTurn(parts, c, stream, headers);
}

/** Events up to the first that says how the turn goes, if it comes within `commitMs`, and the reads (`begun`) that gave them. */
async function firstEvents({ clock, waits }: TurnParts, reader: TurnReader) {
  const events: TurnEvent[] = [];
  const begun: ReturnType<TurnReader["next"]>[] = [];
  const until = clock.monotonic() + waits.commitMs;
  try {
    while (events.every(({ type }) => type === "started" || type === "usage")) {
      const read = nextOf(reader);
      read.catch(() => {}); // if the client leaves first, nobody awaits it
      begun.push(read);
      const more = await within(read, Math.max(0, until - clock.monotonic()), clock);
      if (more === undefined) break; // too late, or there are no more
      events.push(...more);
    }
  } catch (error) {
    await bestEffort(reader.close(false));
    throw error;
  }
  return { events, begun };
}

/** The whole answer as one body, once the turn has ended. */
async function whole(parts: TurnParts, c: GatewayContext, dialect: Dialect, turn: OpenTurn): Promise<Reply> {
  const reader = afterKept(parts.turns.open(turn.turnId, startOfLog, c.signal), turn.kept ?? "");
  const { answer, started } = await readAnswer(reader, turn.context.parsed.request, teller(parts, turn));
  const { end } = answer;
  const ideTools = end?.type === "finished" || end?.type === "failed" ? end.ideTools : undefined;
  if (end?.type === "finished") {
    const headers = headersOf(turn, started, ideTools);
    return answerResponse(dialect.encodeAnswer(turn.context, answer), headers, reader.close);
  }
  await bestEffort(reader.close(true));
  const error = end === undefined ? endedEarly() : failureOf(end);
  return failedReply(c, dialect, turn, { error, started, ideTools });
}

/** Everything up to the terminal event (a failure as `tell` tells it), and where the prompt went. Closes the reader if reading fails. */
export async function readAnswer(
  reader: TurnReader,
  request: TurnRequest,
  tell: (failure: FailedEvent) => FailedEvent = (failure) => failure,
): Promise<{ readonly answer: Answer; readonly started: StartedEvent | undefined }> {
  const fold = new AnswerFold(request);
  let started: StartedEvent | undefined;
  try {
    for (let events = await nextOf(reader); events !== undefined; events = await nextOf(reader)) {
      for (const event of events) {
        if (event.type === "started") started ??= event;
        fold.push(event.type === "failed" ? tell(event) : event);
      }
      if (fold.answer.end !== undefined) break;
    }
  } catch (error) {
    await bestEffort(reader.close(false));
    throw error;
  }
  return { answer: fold.answer, started };
}

/** The next events of a turn of which the client has nothing yet. A turn that was there when its request came, and is unknown now, was taken back. */
async function nextOf(reader: TurnReader): ReturnType<TurnReader["next"]> {
  try {
    return await reader.next();
  } catch (error) {
    throw isUnknownTurn(error) ? takenBack() : error;
  }
}

/** A failure as this client is told it: how to go on under its key, and the size of a prompt that is too long. */
function teller(
  { contextTokens }: TurnParts,
  { record, joined, context }: OpenTurn,
): (event: FailedEvent) => FailedEvent {
  const key = { isGiven: record.idempotencyKey !== undefined, isRepeat: joined === "key" };
  const maximum = promptBudget(contextTokens?.(record.modelUid), record.request.maxOutputTokens);
  return (event) => {
    const told = failedUnsent(event) ? event : { ...event, error: withSpentKey(event.error, key) };
    return { ...told, error: sizedError(told.error, context.promptTokens, maximum) };
  };
}

/** The process that began the turn lost its store, and removed it. */
function takenBack(): MillraceError {
  return new MillraceError("unavailable", "This turn was taken back while it was read.", {
    hint: "Send the request again.",
    retryAfterMs: 1_000,
  });
}

interface Failure {
  readonly error: ErrorRecord;
  readonly started: StartedEvent | undefined;
  readonly ideTools: IdeToolNames | undefined;
}

/**
 * A failed turn as a status. Once the conversation existed upstream, the prompt may have cost credits, so a header tells
 * the SDKs not to retry. Source: docs/dev/wire/requirements.json.
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
  const { "x-millrace-compacted": compacted, ...headers } = turn.headers;
  return {
    ...headers,
    ...(compacted === undefined || started?.tools === "native" ? {} : { "x-millrace-compacted": compacted }), // an agent gets its tools whole
    ...(started === undefined ? {} : { "x-millrace-backend": started.backend }),
    ...(started?.ide === undefined ? {} : { "x-millrace-ide": headerSafe(ideName(started.ide)) }),
    ...(started === undefined || !canCall(turn.record) ? {} : { "x-millrace-tools": started.tools ?? "prose" }),
    ...(ideTools === undefined ? {} : { "x-millrace-ide-tools": headerSafe(ideTools.join(", ")) }),
    ...(continuity === undefined ? {} : { "x-millrace-continuity": headerSafe(continuity) }),
  };
}

function canCall({ request: { tools, toolChoice } }: TurnRecord): boolean {
  return tools.length > 0 && toolChoice.type !== "none";
}

/** How a request has to do with an Idempotency-Key: whether its turn has one, and whether the request came under it again. */
export interface KeyUse {
  readonly isGiven: boolean;
  readonly isRepeat: boolean;
}

/**
 * A failure under an Idempotency-Key, with how to go on: the key gives this failure again and never a prompt, so "try again"
 * alone sends its reader in a circle. For a repeat under the key the failure is final.
 */
export function withSpentKey(error: ErrorRecord, { isGiven, isRepeat }: KeyUse): ErrorRecord {
  if (!isGiven) return error;
  const waitS = waitAfterFirst(error);
  const wait = waitS === 0 ? "" : ` after ${waitS} s`;
  const spent = "This Idempotency-Key is spent: it only gives this failure again.";
  const hint = `${error.hint} ${spent} Send the request with a new key, or without a key${wait}.`;
  return { ...error, hint, ...(isRepeat ? { final: true } : {}) };
}
