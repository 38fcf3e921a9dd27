import type { Hono } from "hono";
import { MillraceError } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import type { TurnRecord } from "../../log/store.ts";
import type { DashboardFile } from "../dashboard/dashboard-files.ts";
import { endSessionCookie, linkLifeMs, sessionCookie } from "../dashboard/dashboard-sessions.ts";
import { turnFeed } from "../dashboard/turn-feed.ts";
import { beginSummary, encodeResumption, promptTexts, summarize, type TurnSummary } from "../dashboard/turn-summary.ts";
import { turnTimeline } from "../dashboard/turn-timeline.ts";
import type { WireEvent } from "../dialects/dialect.ts";
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
import { pulledBody, sseHeaders, writeSse } from "../http/sse-body.ts";
import { ownTurn } from "./turns-routes.ts";

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
    const { turns, events, clock, meter } = gateway;
    return stream(c, (signal) => turnFeed({ turns, events, clock, meter }, signal));
  });
  app.get("/v1/turns/:id/summary", async (c) => {
    const turn = await ownTurn(gateway, c, c.req.param("id"));
    if (turn === undefined) return noTurn(c);
    const summary = await summaryOf(gateway, turn, c.req.raw.signal);
    const resumptions = gateway.meter?.resumptions(turn.turnId)?.map(encodeResumption) ?? null;
    const showsText = gateway.dashboardText === true && turn.sealed !== true;
    // Without the setting no text is even taken out of the record.
    const prompt = showsText ? promptTexts(turn.request) : null;
    const returns = resumptions?.length ?? null;
    const body = { ...summary, returns, resumptions, shows_text: showsText, prompt };
    return jsonResponse(body, 200, keptHeaders(turn));
  });
  app.get("/v1/turns/:id/timeline", async (c) => {
    const turn = await ownTurn(gateway, c, c.req.param("id"));
    if (turn === undefined) return noTurn(c);
    return stream(c, (signal) => turnTimeline(gateway, turn, signal), keptHeaders(turn));
  });
}

export function ownersOnly(c: GatewayContext): Response {
  const error = new MillraceError("unauthenticated", "Only the gateway's owner may see this.", {
    hint: "Use the key that `millrace key` shows.",
  });
  return respondError(c, error, 403);
}

/** A turn up to the event that its log held when it was asked for. */
async function summaryOf(gateway: Gateway, turn: TurnRecord, signal: AbortSignal): Promise<TurnSummary> {
  let summary = beginSummary(turn);
  if (turn.lastEventId === startOfLog) return summary;
  const enough = new AbortController();
  for await (const event of gateway.turns.outline(turn.turnId, startOfLog, AbortSignal.any([signal, enough.signal]))) {
    summary = summarize(summary, event);
    if (event.eventId >= turn.lastEventId) break;
  }
  enough.abort();
  return summary;
}

function stream(
  c: GatewayContext,
  events: (signal: AbortSignal) => AsyncGenerator<WireEvent, void>,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const controller = new AbortController();
  const signal = AbortSignal.any([c.req.raw.signal, controller.signal]);
  return new Response(pulledBody(texts(events(signal), signal), controller), {
    headers: { ...sseHeaders, ...headers },
  });
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
