import { MillraceError } from "../../base/errors.ts";
import { startOfLog, type TurnId } from "../../base/ids.ts";
import { estimateTokens } from "../../base/token-estimate.ts";
import type { TurnRecord } from "../../log/store.ts";
import { wholeAnswers } from "../../turns/prompt/whole-answers.ts";
import type { AskedTurn, RequestIdentity, StartedTurn } from "../../turns/turns.ts";
import { endsInAwaitedResults } from "../../turns/twins.ts";
import { projectFromMessages } from "../../usage/history/project-of.ts";
import { clientName, repeatsLate } from "../dialects/by-client.ts";
import type { Dialect, EncodeContext, ParsedTurn } from "../dialects/dialect.ts";
import { callerOf, type GatewayContext, type TurnParts } from "../http/context.ts";
import {
  clientOf,
  graceMsOf,
  headerSafe,
  idempotencyKeyOf,
  isRetry,
  projectOf,
  sessionOf,
} from "../http/request-headers.ts";
import { keptHeaders } from "../http/route-headers.ts";
import { type PromptSize, sizeOfAccepted } from "./count-tokens.ts";
import { fingerprintOf, questionIn } from "./question.ts";
import { handedOut, parseCursor, type WireCursor } from "./wire-cursor.ts";

/** The turn of a request: its reader, its encoder and its headers. */
export interface OpenTurn {
  readonly turnId: TurnId;
  readonly context: EncodeContext;
  readonly record: TurnRecord;
  readonly resumeAfter: WireCursor | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** As a new one, by its key, as the same request again, or by the `Last-Event-ID` of an earlier stream. */
  readonly joined: StartedTurn["joined"] | "last_event_id";
  readonly continuity: StartedTurn["continuity"];
  /** The text of an answer that was cut, which the client has and goes on from: the answer begins after it. */
  readonly kept?: string;
}

/**
 * The turn of a request: a new turn, the turn that it joins, or the turn of its `Last-Event-ID`. `body` is what the client sent;
 * `parsed` is how the dialect reads it.
 *
 * @throws MillraceError what resolving the model, the keys or the turns throw.
 */
export async function startTurn(
  parts: TurnParts,
  c: GatewayContext,
  { dialect, parsed, body }: { readonly dialect: Dialect; readonly parsed: ParsedTurn; readonly body: unknown },
): Promise<OpenTurn> {
  const { question, kept } = questionIn(body);
  const fingerprint = await fingerprintOf(dialect.name, question);
  const { headers, signal } = c;
  const graceMs = parsed.detached === true ? Number.POSITIVE_INFINITY : graceMsOf(c.headers, c.search);
  const resumed = await resumedTurn(parts, c, fingerprint);
  if (resumed !== undefined) {
    const { found, cursor } = resumed;
    const record = await parts.turns.noteReader(found, graceMs);
    parts.metrics.turn(dialect.name, "last_event_id");
    const how = { joined: "last_event_id", continuity: () => "joined" } as const;
    return openTurn(parts, c, parsed, { ...how, record, resumeAfter: cursor });
  }
  const asked: RequestIdentity = {
    caller: callerOf(c).digest,
    fingerprint,
    idempotencyKey: idempotencyKeyOf(headers),
    session: sessionOf(headers),
    retry: isRetry(headers) || endsInAwaitedResults(parsed.request),
    graceMs,
  };
  const resolve = async (): Promise<AskedTurn> => {
    const { model, reasoningEffort } = parsed.request;
    const resolution = await parts.models.resolve(model, reasoningEffort, signal);
    c.logFields.model = resolution.model.uid;
    return {
      ...asked,
      dialect: dialect.name,
      request: { ...parsed.request, messages: wholeAnswers(parsed.request.messages) },
      modelUid: resolution.model.uid,
      modelNumber: resolution.model.number,
      modelRule: resolution.rule,
      client: clientOf(headers),
      project: projectOf(headers) ?? projectFromMessages(parsed.request), // now: lists and the history open no request
      wire: parsed.wire,
      repeatsLate: repeatsLate(clientName(headers)),
    };
  };
  const started = await parts.turns.start({ ...asked, resolve }, signal);
  parts.metrics.turn(dialect.name, started.joined);
  const turn = openTurn(parts, c, parsed, { ...started, resumeAfter: undefined });
  return started.joined === "implicit" ? { ...turn, kept } : turn; // a new turn has read the note
}

/** The turn that a `Last-Event-ID` names, when this is that turn's own request again. */
async function resumedTurn(parts: TurnParts, c: GatewayContext, fingerprint: string) {
  const text = c.header("last-event-id");
  if (text === undefined || text.trim() === "") return undefined;
  const cursor = parseCursor(text);
  const found = cursor === undefined ? undefined : await parts.turns.get(cursor.turnId, callerOf(c).digest);
  if (found === undefined && cursor?.eventId === startOfLog) return undefined; // its reader has nothing, and the turn was taken back
  if (cursor === undefined || found === undefined) {
    throw new MillraceError("invalid_request", "Last-Event-ID names a turn that cannot be resumed.", {
      param: "last-event-id",
      hint: "Send the request without it to start a new turn.",
    });
  }
  if (found.fingerprint !== fingerprint) {
    throw new MillraceError("idempotency_conflict", "Last-Event-ID names the turn of another request.", {
      param: "last-event-id",
      hint: "Send the same body as the first time, or leave the header out.",
    });
  }
  handedOut(cursor.eventId, found, "last-event-id");
  return { found, cursor };
}

function openTurn(
  parts: TurnParts,
  c: GatewayContext,
  parsed: ParsedTurn,
  { record, joined, continuity, resumeAfter }: Pick<OpenTurn, "record" | "joined" | "continuity" | "resumeAfter">,
): OpenTurn {
  const { turnId } = record;
  const size = sizeOf(parts, record);
  parts.log.write("debug", "turn requested", { requestId: c.requestId, turnId, joined });
  Object.assign(c.logFields, { turnId, joined, model: record.modelUid, client: record.client });
  return {
    turnId,
    record,
    resumeAfter,
    joined,
    continuity,
    context: contextOf(c, record, parsed, size),
    headers: {
      ...keptHeaders(record),
      "x-millrace-joined": joined,
      ...(size.compacted.length === 0 ? {} : { "x-millrace-compacted": size.compacted.join(", ") }),
      ...leftOutHeaders(parsed),
      ...modelHeaders(record),
    },
  };
}

/** The parts of a request that were left out, by type. */
export function leftOutHeaders({ ignoredTools = [], leftOut = [] }: ParsedTurn): Readonly<Record<string, string>> {
  return {
    ...(ignoredTools.length === 0 ? {} : { "x-millrace-ignored-tools": headerSafe(ignoredTools.join(", ")) }),
    ...(leftOut.length === 0 ? {} : { "x-millrace-left-out": headerSafe(leftOut.join(", ")) }),
  };
}

/** The size of a turn's prompt as it was laid out for its model. */
function sizeOf(parts: TurnParts, { request, modelUid }: Pick<TurnRecord, "request" | "modelUid">): PromptSize {
  return sizeOfAccepted(request, parts.contextTokens?.(modelUid));
}

/** The context that an encoder needs. It comes from the turn's record, except for this reader's own wishes (`parsed.stream`, `parsed.wire`). */
function contextOf(
  c: GatewayContext,
  record: Pick<TurnRecord, "turnId" | "createdAtMs" | "request">,
  parsed: ParsedTurn,
  size: PromptSize,
): EncodeContext {
  const { turnId, createdAtMs, request } = record;
  return {
    turnId,
    createdAtMs,
    parsed: { ...parsed, request },
    requestId: c.requestId,
    promptTokens: size.tokens,
    estimateTokens,
  };
}

/** The context of a turn that is shown again, as its record has it. */
export function storedContext(parts: TurnParts, c: GatewayContext, record: TurnRecord, stream: boolean): EncodeContext {
  return contextOf(c, record, { request: record.request, stream, wire: record.wire }, sizeOf(parts, record));
}

/** The model that answers, the requested name, and the rule between them: the same as for the request that began the turn. */
function modelHeaders({ modelUid, request, modelRule }: TurnRecord): Readonly<Record<string, string>> {
  return {
    "x-millrace-model": headerSafe(modelUid),
    "x-millrace-model-asked": headerSafe(request.model),
    ...(modelRule === undefined ? {} : { "x-millrace-model-rule": headerSafe(modelRule) }),
  };
}
