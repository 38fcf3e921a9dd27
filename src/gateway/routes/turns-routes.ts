import type { Hono } from "hono";
import { MillraceError } from "../../base/errors.ts";
import { type EventId, startOfLog, type TurnId } from "../../base/ids.ts";
import type { TurnEvent } from "../../log/event.ts";
import type { TurnRecord } from "../../log/store.ts";
import { handedOut } from "../answers/cursor.ts";
import { noteResumption } from "../answers/note-resumption.ts";
import { PatientReader } from "../answers/patient-reader.ts";
import { streamTurn } from "../answers/stream-turn.ts";
import { chainUpTo, turnEventsEncoder } from "../dashboard/turn-events.ts";
import {
  callerOf,
  type Gateway,
  type GatewayContext,
  type GatewayEnv,
  jsonResponse,
  notServed,
  respondError,
} from "../http/context.ts";
import { keptHeaders } from "../http/kept-headers.ts";
import { graceMsAsked } from "../http/request-headers.ts";
import { pulledBody, sseHeaders } from "../http/sse-body.ts";

const mostListed = 1000;

/** Turns in Millrace's own words: list, look at, follow from any cursor, cancel. */
export function mountTurns(app: Hono<GatewayEnv>, gateway: Gateway): void {
  app.get("/v1/turns", async (c) => jsonResponse(await listTurns(gateway, c)));
  app.get("/v1/turns/:id", async (c) => {
    const turn = await ownTurn(gateway, c, c.req.param("id"));
    return turn === undefined ? turnNotFound(c) : describeNow(gateway, turn);
  });
  app.get("/v1/turns/:id/events", async (c) => {
    const turn = await ownTurn(gateway, c, c.req.param("id"));
    if (turn === undefined) return turnNotFound(c);
    if (turn.sealed === true) return turnSealed(c);
    const attaches = c.req.query("attach") === "1";
    return turnResponse(
      gateway,
      c,
      attaches ? await gateway.turns.noteAttached(turn, graceMsAsked(c.req.raw)) : turn,
      attaches,
    );
  });
  app.post("/v1/turns/:id/cancel", async (c) => {
    const turn = await ownTurn(gateway, c, c.req.param("id"));
    if (turn === undefined) return turnNotFound(c);
    await gateway.turns.cancel(turn.turnId, "client");
    return describeNow(gateway, (await gateway.turns.get(turn.turnId)) ?? turn);
  });
}

/** The turn, if there is one and the caller may see it: somebody else's is like none. */
export async function ownTurn(gateway: Gateway, c: GatewayContext, id: string): Promise<TurnRecord | undefined> {
  return gateway.turns.get(id as TurnId, onlyOf(c)); // looked up as given: an id of another form is unknown
}

/** Whose turns the caller may see: the owner's key everybody's. */
function onlyOf(c: GatewayContext): string | undefined {
  const { owner, digest } = callerOf(c);
  return owner ? undefined : digest;
}

async function listTurns(gateway: Gateway, c: GatewayContext): Promise<unknown> {
  const query = new URL(c.req.url).searchParams;
  const limit = Math.min(mostListed, Math.max(1, Number.parseInt(query.get("limit") ?? "", 10) || 50));
  const open = query.get("open");
  const caller = onlyOf(c);
  const turns = await gateway.turns.list({
    ...(open === null ? {} : { open: open === "true" || open === "1" }),
    ...(caller === undefined ? {} : { caller }),
    limit,
  });
  return { object: "list", data: turns.map(describeTurn), server_now: serverNow(gateway) };
}

/** A turn, and what time it is by the clock that its times are told by. */
function describeNow(gateway: Gateway, turn: TurnRecord): Response {
  return jsonResponse({ ...describeTurn(turn), server_now: serverNow(gateway) }, 200, keptHeaders(turn));
}

function serverNow(gateway: Gateway): string {
  return new Date(gateway.clock.now()).toISOString();
}

/** What a list shows of a turn: never its prompt. */
function describeTurn(turn: TurnRecord): object {
  return {
    object: "turn",
    id: turn.turnId,
    created_at: new Date(turn.createdAtMs).toISOString(),
    status: turn.outcome ?? "running",
    dialect: turn.dialect,
    delivered: turn.delivered,
    degraded: turn.degraded,
    expires_at: new Date(turn.expiresAtMs).toISOString(),
    last_event_id: turn.lastEventId,
    ...(turn.sealed === true ? {} : { grace_ms: turn.graceMs === Number.POSITIVE_INFINITY ? null : turn.graceMs }),
    model: turn.request.model,
    model_uid: turn.modelUid,
    client: turn.client ?? null,
    ...(turn.sealed === true ? { sealed: true } : {}),
    session: turn.session ?? null,
    idempotency_key: turn.idempotencyKey ?? null,
  };
}

/**
 * The turn's own events as an event stream: resumes with `?after=` or `Last-Event-ID`; 204 stops a reader that has all.
 * An onlooker by default; with `?attach=1` a reader of the turn, which keeps it alive.
 */
async function turnResponse(
  gateway: Gateway,
  c: GatewayContext,
  turn: TurnRecord,
  attaches: boolean,
): Promise<Response> {
  const controller = new AbortController();
  const signal = AbortSignal.any([c.req.raw.signal, controller.signal]);
  const { turns } = gateway;
  const cursor = cursorOf(c, turn);
  if (attaches || cursor !== startOfLog) noteResumption(gateway, c.req.raw.headers, turn.turnId, "cursor", cursor);
  const before = await chainUpTo(turns, turn.turnId, cursor, signal);
  const events = attaches ? turns.read(turn.turnId, cursor, signal) : turns.follow(turn.turnId, cursor, signal);
  const reader = new PatientReader(events, gateway.clock, signal);
  const early: TurnEvent[] = [];
  if (turn.ended) {
    const first = await reader.next(gateway.waits.commitMs);
    if (first.type === "ended") return new Response(null, { status: 204, headers: keptHeaders(turn) });
    if (first.type === "event") early.push(first.event);
  }
  const texts = streamTurn(
    {
      turns: gateway.turns,
      turnId: turn.turnId,
      reader,
      early,
      encoder: turnEventsEncoder(before),
      resumeAfter: undefined,
      sinceMs: gateway.clock.now(),
      writeId: (eventId) => eventId ?? cursor,
      timing: gateway.waits,
      clock: gateway.clock,
      metrics: gateway.metrics,
      onError: (error) => gateway.log.write("warn", "stream broke", { turnId: turn.turnId, code: error.code }),
    },
    signal,
  );
  return new Response(pulledBody(texts, controller), { headers: { ...sseHeaders, ...keptHeaders(turn) } });
}

/** @throws MillraceError `invalid_request` for a cursor that this turn's log has not handed out. */
function cursorOf(c: GatewayContext, turn: TurnRecord): EventId {
  const resumed = c.req.header("last-event-id")?.trim();
  if (resumed) return handedOut(resumed, turn, "last-event-id");
  return handedOut(c.req.query("after") || startOfLog, turn, "after");
}

/**
 * A turn of the stream protocol, which has a key of its client's own. That it is there is no secret here: who may see the
 * turn sees it listed. A wrong key of a stream is another matter, and finds nothing.
 */
function turnSealed(c: GatewayContext): Response {
  const error = new MillraceError("invalid_request", "Its client sealed this turn: only that client can read it.", {
    hint: `What is known of it: GET /v1/turns/${c.req.param("id")}/timeline. Its texts: the stream that it belongs to, with that stream's key.`,
    details: { reason: "sealed" },
  });
  return respondError(c, error, 403);
}

function turnNotFound(c: GatewayContext): Response {
  return notServed(c, 404, "There is no such turn.", "GET /v1/turns lists them; old ones are forgotten.");
}
