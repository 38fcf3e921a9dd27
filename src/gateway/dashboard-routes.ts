import type { Hono } from "hono";
import { MillraceError } from "../base/errors.ts";
import { startOfLog, type TurnId } from "../base/ids.ts";
import {
  callerOf,
  type Gateway,
  type GatewayContext,
  type GatewayEnv,
  jsonResponse,
  notServed,
  respondError,
} from "./context.ts";
import type { DashboardFile } from "./dashboard-files.ts";
import { endSessionCookie, linkLifeMs, sessionCookie } from "./dashboard-sessions.ts";
import type { WireEvent } from "./dialects/dialect.ts";
import { pulledBody, sseHeaders, writeSse } from "./sse-body.ts";
import { turnFeed } from "./turn-feed.ts";
import {
  beginSummary,
  encodeResumption,
  promptTexts,
  summarize,
  type TurnSummary,
  timelineEntry,
} from "./turn-summary.ts";
import { ownTurn, turnSealed } from "./turns-routes.ts";

/** Nothing but the dashboard's own files and this gateway: no inline code, no frame, no form, nothing from elsewhere. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const fileHeaders = {
  "content-security-policy": policy,
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** The dashboard: its files, signing in, and turns as an onlooker sees them. Stands before the routes of single turns. */
export function mountDashboard(app: Hono<GatewayEnv>, gateway: Gateway): void {
  for (const [path, file] of gateway.dashboard ?? []) app.get(path, () => fileResponse(file));
  app.post("/v1/dashboard/link", (c) => {
    if (!callerOf(c).owner) return ownersOnly(c);
    const code = gateway.sessions.newCode();
    return jsonResponse({
      object: "dashboard.link",
      path: `/sign-in?code=${code}`,
      expires_in_seconds: linkLifeMs / 1000,
    });
  });
  app.get("/sign-in", (c) => signIn(gateway, c));
  app.post("/sign-out", (c) => {
    gateway.sessions.end(c.req.raw.headers);
    return jsonResponse({ object: "session", signed_in: false }, 200, { "set-cookie": endSessionCookie });
  });
  app.get("/v1/ides", async (c) => {
    if (!callerOf(c).owner) return ownersOnly(c);
    if (gateway.ides === undefined)
      return notServed(c, 501, "This gateway does not look for IDEs.", "Start it with `millrace serve`.");
    return jsonResponse(await gateway.ides());
  });
  app.get("/v1/turns/feed", (c) => {
    if (!callerOf(c).owner) return ownersOnly(c);
    const { turns, starts, clock } = gateway;
    return stream(c, (signal) => turnFeed({ turns, starts, clock }, signal));
  });
  app.get("/v1/turns/:id/summary", async (c) => {
    const turn = await ownTurn(gateway, c, c.req.param("id"));
    if (turn === undefined) return noTurn(c);
    const isOpen = turn.sealed !== true; // of a sealed turn its record is all that can be told
    const until = isOpen ? turn.lastEventId : startOfLog;
    const summary = await summaryOf(gateway, turn.turnId, beginSummary(turn), until, c.req.raw.signal);
    const resumptions = gateway.meter?.resumptions(turn.turnId)?.map(encodeResumption) ?? null;
    // Without the setting no text is even taken out of the record.
    const prompt = gateway.dashboardText === true ? promptTexts(turn.request) : null;
    return jsonResponse({ ...summary, resumptions, shows_text: gateway.dashboardText === true, prompt });
  });
  app.get("/v1/turns/:id/timeline", async (c) => {
    const turn = await ownTurn(gateway, c, c.req.param("id"));
    if (turn === undefined) return noTurn(c);
    if (turn.sealed === true) return turnSealed(c);
    return stream(c, (signal) => timeline(gateway, turn.turnId, signal));
  });
}

export function ownersOnly(c: GatewayContext): Response {
  const error = new MillraceError("unauthenticated", "Only the gateway's owner may see this.", {
    hint: "Use the key that `millrace key` shows.",
  });
  return respondError(c, error, 403);
}

/** A turn up to the event that its log held when it was asked for. */
async function summaryOf(
  gateway: Gateway,
  turnId: Parameters<Gateway["turns"]["follow"]>[0],
  begun: TurnSummary,
  lastEventId: string,
  signal: AbortSignal,
): Promise<TurnSummary> {
  if (lastEventId === startOfLog) return begun;
  const enough = new AbortController();
  let summary = begun;
  for await (const event of gateway.turns.follow(turnId, startOfLog, AbortSignal.any([signal, enough.signal]))) {
    summary = summarize(summary, event);
    if (event.eventId >= lastEventId) break;
  }
  enough.abort();
  return summary;
}

/** The log's entries as they come, and between them who came back to the turn. */
async function* timeline(gateway: Gateway, turnId: TurnId, signal: AbortSignal): AsyncGenerator<WireEvent, void> {
  let told = 0;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  const resumptions = function* (): Generator<WireEvent, void> {
    askedAtMs = gateway.clock.now();
    const all = gateway.meter?.resumptions(turnId) ?? [];
    for (const one of all.slice(told)) yield { name: "resumption", data: JSON.stringify(encodeResumption(one)) };
    told = Math.max(told, all.length);
  };
  yield* resumptions();
  for await (const event of gateway.turns.follow(turnId, startOfLog, signal)) {
    if (event.atMs >= askedAtMs) yield* resumptions(); // old entries come at once: nobody can have come between them
    yield { name: "entry", data: JSON.stringify(timelineEntry(event, gateway.dashboardText === true)) };
  }
  yield* resumptions();
}

function stream(c: GatewayContext, events: (signal: AbortSignal) => AsyncGenerator<WireEvent, void>): Response {
  const controller = new AbortController();
  const signal = AbortSignal.any([c.req.raw.signal, controller.signal]);
  return new Response(pulledBody(texts(events(signal), signal), controller), { headers: sseHeaders });
}

async function* texts(events: AsyncGenerator<WireEvent, void>, signal: AbortSignal): AsyncGenerator<string, void> {
  try {
    for await (const event of events) yield writeSse(event);
  } catch (error) {
    if (!signal.aborted) throw error; // who went away is told nothing
  }
}

function fileResponse(file: DashboardFile): Response {
  return new Response(file.body, {
    headers: {
      ...fileHeaders,
      "content-type": file.type,
      // Built names change with their content; the page itself does not.
      "cache-control": file.isNamedByContent ? "public, max-age=31536000, immutable" : "no-cache",
    },
  });
}

function signIn(gateway: Gateway, c: GatewayContext): Response {
  const session = gateway.sessions.redeem(c.req.query("code") ?? "");
  if (session !== undefined) {
    const headers = { location: "/", "set-cookie": sessionCookie(session), "cache-control": "no-store" };
    return new Response(null, { status: 303, headers });
  }
  // The page itself says it where there is one: it sees that it stands at this address.
  const page = gateway.dashboard?.get("/");
  const text = "This link was used already, or is too old. Make a new one: millrace dashboard\n";
  return new Response(page?.body ?? text, {
    status: 403,
    headers: {
      ...fileHeaders,
      "content-type": page?.type ?? "text/plain; charset=utf-8",
      "cache-control": "no-store",
    },
  });
}

function noTurn(c: GatewayContext): Response {
  return notServed(c, 404, "There is no such turn.", "GET /v1/turns lists them; old ones are forgotten.");
}
