import { isMillraceError } from "../../base/errors.ts";
import { type EventId, startOfLog, type TurnId } from "../../base/ids.ts";
import type { TurnLabel, TurnRecord } from "../../log/store.ts";
import { listedTurn } from "../../usage/history/finished-turn.ts";
import { encodeListed } from "../../usage/turn-page-envelope.ts";
import { streamTurn } from "../answers/stream-turn.ts";
import { handedOut } from "../answers/wire-cursor.ts";
import { chainUpTo, turnEventsEncoder } from "../dashboard/turn-timeline.ts";
import { callerOf, type GatewayContext, type ListParts, type TurnParts } from "../http/context.ts";
import { Refusal } from "../http/refusal.ts";
import { jsonResponse, type Reply } from "../http/reply.ts";
import { graceMsOf } from "../http/request-headers.ts";
import { keptHeaders, resumesTurn, tellsOfTurn } from "../http/route-headers.ts";
import { turnListSchema, turnSchema } from "./answer-schemas.ts";
import { defineRoute, limitIn, type RouteInput } from "./route.ts";

const [mostListed, mostQuestions] = [1000, 100];

/** Turns in Millrace's own words: list, look at, follow from any cursor, cancel. */
export const turnsRoutes = [
  defineRoute("lists", "GET /v1/turns", {
    summary: "Turns, newest first, without their prompts.",
    dashboard: true,
    query: {
      open: "`true`: running ones only",
      limit: "1 to 1000",
      questions:
        "`1`: with the first line of each question; of the newest 100, and in a session only where it shows texts",
    },
    answer: turnListSchema,
    handle: async (parts, c) => jsonResponse(await listTurns(parts, c)),
  }),
  defineRoute("turns", "GET /v1/turns/{id}", {
    summary: "One turn.",
    dashboard: true,
    answer: turnSchema,
    headers: tellsOfTurn,
    handle: withTurn((parts, _c, turn) => describeNow(parts, turn)),
  }),
  defineRoute("turns", "GET /v1/turns/{id}/events", {
    summary: "A turn's own events, to its end; 403 for a turn that its client sealed.",
    query: { after: "only events after this id", attach: "`1`: as a reader that keeps the turn alive" },
    answers: "event-stream",
    headers: resumesTurn,
    handle: withTurn(async (parts, c, turn) => {
      if (turn.sealed === true) throw turnSealed(turn);
      if (c.query("attach") !== "1") return turnResponse(parts, c, turn, false);
      return turnResponse(parts, c, await parts.turns.noteReader(turn, graceMsOf(c.headers, c.search)), true);
    }),
  }),
  defineRoute("turns", "POST /v1/turns/{id}/cancel", {
    summary: "Ends a turn.",
    dashboard: true,
    answer: turnSchema,
    headers: tellsOfTurn,
    handle: withTurn(async (parts, _c, turn) => {
      await parts.turns.cancel(turn.turnId, "client");
      return describeNow(parts, (await parts.turns.get(turn.turnId)) ?? turn);
    }),
  }),
];

/** A handler that gets the turn named in the path; 404 if there is none that the caller may see. */
export function withTurn<Parts extends Pick<TurnParts, "turns">>(
  then: (parts: Parts, c: GatewayContext, turn: TurnRecord) => Reply | Promise<Reply>,
): (parts: Parts, c: GatewayContext, asked: RouteInput<"id">) => Promise<Reply> {
  return async (parts, c, { params: { id } }) => {
    const turn = await ownTurn(parts, c, id);
    if (turn !== undefined) return then(parts, c, turn);
    throw new Refusal("not_found", "There is no such turn.", {
      hint: "GET /v1/turns lists the turns. Old turns are deleted.",
    });
  };
}

/** The turn, if the caller may see it; undefined for another caller's turn, as if it did not exist. */
export async function ownTurn(
  { turns }: Pick<TurnParts, "turns">,
  c: GatewayContext,
  id: string,
): Promise<TurnRecord | undefined> {
  return turns.get(id as TurnId, onlyOf(c)); // looked up as given: an id of another form is unknown
}

/** The digest of the only caller whose turns may be seen; undefined for the owner's key, which sees all. */
function onlyOf(c: GatewayContext): string | undefined {
  const { owner, digest } = callerOf(c);
  return owner ? undefined : digest;
}

async function listTurns(parts: ListParts, c: GatewayContext): Promise<unknown> {
  const open = c.query("open");
  const caller = onlyOf(c);
  const turns = await parts.turns.list({
    ...(open === undefined ? {} : { open: open === "true" || open === "1" }),
    ...(caller === undefined ? {} : { caller }),
    limit: limitIn(c.search, 50, mostListed),
  });
  const asksQuestions = c.query("questions") === "1" && seesTexts(parts, c);
  const data = turns.map((turn, at) => {
    const showsQuestion = asksQuestions && at < mostQuestions && turn.sealed !== true;
    return { ...describeTurn(turn, parts), ...(showsQuestion ? { question: turn.question ?? null } : {}) };
  });
  return { object: "list", data, server_now: serverNow(parts) };
}

/** Whether the caller may read texts now: a key reads those of its own turns, a session only where its owner lets it show them. */
export function seesTexts({ sessions }: Pick<ListParts, "sessions">, { headers }: GatewayContext): boolean {
  return !sessions.isSignedIn(headers) || sessions.showsTexts(headers);
}

/** The turn with its request; undefined for one that its client sealed, and one that has expired meanwhile. */
export async function readable(
  { turns }: Pick<TurnParts, "turns">,
  { turnId, sealed }: TurnLabel,
): Promise<TurnRecord | undefined> {
  return sealed === true ? undefined : orExpired(turns.get(turnId));
}

/** Undefined for a turn that has expired. */
export async function orExpired<T>(found: Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (isMillraceError(error) && error.code === "expired") return undefined;
    throw error;
  }
}

/** A turn, and the current time of the clock that its times come from. */
function describeNow(parts: TurnParts, turn: TurnRecord): Reply {
  const place = parts.turns.placeInQueue(turn.turnId);
  const queue = place === undefined ? {} : { queue: place };
  return jsonResponse({ ...describeTurn(turn, parts), ...queue, server_now: serverNow(parts) }, 200, keptHeaders(turn));
}

function serverNow({ clock }: Pick<ListParts, "clock">): string {
  return new Date(clock.now()).toISOString();
}

/** A turn's entry in a list: never with its prompt. */
export function describeTurn(turn: TurnLabel, { models }: Pick<ListParts, "models">): object {
  return {
    object: "turn",
    ...encodeListed(listedTurn(turn), (uid) => models.nameOf(uid)),
    status: turn.outcome ?? "running",
    dialect: turn.dialect,
    delivered: turn.delivered,
    degraded: turn.degraded,
    expires_at: new Date(turn.expiresAtMs).toISOString(),
    last_event_id: turn.lastEventId,
    ...(turn.sealed === true ? {} : { grace_ms: turn.graceMs === Number.POSITIVE_INFINITY ? null : turn.graceMs }),
    model: turn.request.model,
    model_uid: turn.modelUid,
    ...(turn.sealed === true ? { sealed: true } : {}),
    session: turn.session ?? null,
    idempotency_key: turn.idempotencyKey ?? null,
  };
}

/**
 * The turn's own events as an event stream: resumes with `?after=` or `Last-Event-ID`; 204 stops a reader that has all.
 * An onlooker by default; with `?attach=1` a reader of the turn, which keeps it alive.
 */
async function turnResponse(parts: TurnParts, c: GatewayContext, turn: TurnRecord, attaches: boolean): Promise<Reply> {
  const { turns, clock } = parts;
  const { turnId } = turn;
  const cursor = cursorOf(c, turn);
  const before = await chainUpTo(turns, turnId, cursor, c.signal);
  const stream = {
    turnId,
    reader: attaches
      ? turns.open(turnId, cursor, c.signal)
      : { next: turns.look(turnId, cursor, c.signal), close: async () => {} },
    encoder: turnEventsEncoder(before),
    sinceMs: clock.now(),
    writeId: (eventId: EventId | undefined) => eventId ?? cursor,
    isRest: turn.ended,
  };
  return streamTurn(parts, c, stream, keptHeaders(turn));
}

/** @throws MillraceError `invalid_request` for a cursor that this turn's log has not handed out. */
function cursorOf(c: GatewayContext, turn: TurnRecord): EventId {
  const resumed = c.header("last-event-id")?.trim();
  if (resumed) return handedOut(resumed, turn, "last-event-id");
  return handedOut(c.query("after") || startOfLog, turn, "after");
}

/**
 * The refusal for a turn of the stream protocol, which is sealed with its client's key. That the turn exists is no secret: the
 * caller already sees it in the list. A stream that is asked for with a wrong key is reported as missing instead.
 */
export function turnSealed({ turnId }: TurnRecord): Refusal {
  return new Refusal("not_open", "This turn is encrypted: only the client that sent it can read it.", {
    hint: `GET /dashboard/api/turns/${turnId}/timeline shows its events without texts. Read its texts through its stream, with the stream's key.`,
    details: { reason: "sealed" },
  });
}
