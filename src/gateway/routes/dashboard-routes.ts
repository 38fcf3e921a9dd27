import type { ServerResponse } from "node:http";
import { z } from "zod";
import { startOfLog } from "../../base/ids.ts";
import { type OutlinedEvent, shorten } from "../../log/event.ts";
import type { TurnRecord } from "../../log/store.ts";
import type { DashboardFile } from "../dashboard/dashboard-files.ts";
import { linkLifeMs } from "../dashboard/dashboard-sessions.ts";
import { turnFeed } from "../dashboard/turn-feed.ts";
import { encodeUnread, messageTexts, type Names, summaryOf, turnDetailSchema } from "../dashboard/turn-summary.ts";
import { turnTimeline } from "../dashboard/turn-timeline.ts";
import type { WireEvent } from "../dialects/dialect.ts";
import type { GatewayContext, PageParts } from "../http/context.ts";
import { Refusal } from "../http/refusal.ts";
import { drained, jsonResponse, type Reply, sseHeaders, writeSse } from "../http/reply.ts";
import { keptHeaders, tellsOfTurn } from "../http/route-headers.ts";
import { idesSchema } from "./answer-schemas.ts";
import { defineOwnerRoute, defineRoute } from "./route.ts";
import { withTurn } from "./turns-routes.ts";

/** Allows only the dashboard's own files, the parts built into its page, and this gateway: no frame, no form, nothing from elsewhere. */
const policyOf = ({ inline }: Pick<DashboardFile, "inline">) =>
  [
    "default-src 'none'",
    ["script-src 'self'", ...inline.script].join(" "),
    ["style-src 'self'", ...inline.style].join(" "),
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

const fileHeaders = {
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** Turns as an onlooker sees them. Stands before the routes of single turns. */
export const onlookerRoutes = [
  defineOwnerRoute("page", "GET /dashboard/api/turns/feed", {
    summary:
      "Turns as they begin, grow and end, and `state` when a pause, the store or the IDEs changed. Only for the owner.",
    answers: "event-stream",
    handle(parts, c) {
      const { turns, events, clock, state } = parts;
      const options = {
        turns,
        events,
        clock,
        names: namesOf(parts),
        state,
        showsText: () => parts.sessions.showsTexts(c.headers),
      };
      return stream(parts, c, (signal) => turnFeed(options, signal));
    },
  }),
  defineRoute("page", "GET /dashboard/api/turns/{id}/summary", {
    summary: "One turn with its times, tokens and end. Null means unknown.",
    dashboard: true,
    answer: turnDetailSchema,
    headers: tellsOfTurn,
    handle: withTurn(async (parts, c, turn) => {
      const summary = summaryOf(turn, namesOf(parts), turn.outline ?? (await readShort(parts, turn, c.signal)));
      const showsText = parts.sessions.showsTexts(c.headers) && turn.sealed !== true;
      // Without the owner's consent no text is even taken out of the record.
      const prompt = showsText ? messageTexts(turn.request) : null;
      const without = summary.status === "running" ? encodeUnread(parts.turns.unread(turn.turnId)) : null;
      const body = { ...summary, without_client: without, shows_text: showsText, prompt };
      return jsonResponse(body, 200, keptHeaders(turn));
    }),
  }),
  defineRoute("page", "GET /dashboard/api/turns/{id}/timeline", {
    summary:
      "A turn's events to its end; also of a turn that its client sealed. Texts only where the session shows them.",
    dashboard: true,
    answers: "event-stream",
    headers: tellsOfTurn,
    handle: withTurn((parts, c, turn) =>
      stream(
        parts,
        c,
        (signal) => turnTimeline(parts, turn, () => parts.sessions.showsTexts(c.headers), signal),
        keptHeaders(turn),
      ),
    ),
  }),
];

/** The dashboard: its page, signing in and out, and the IDEs. */
export const dashboardRoutes = [
  defineOwnerRoute("page", "GET /dashboard/api/ides", {
    summary: "The IDEs found, with doctor's findings. Only for the owner.",
    answer: idesSchema,
    handle: async ({ ides }) => jsonResponse(await ides()),
  }),
  defineRoute("page", "POST /dashboard/api/link", {
    summary: "Makes a link that signs in one browser to the dashboard, once.",
    guard: "owner",
    answer: z.object({ object: z.literal("dashboard.link"), path: z.string(), expires_in_seconds: z.int() }),
    handle: ({ sessions }) =>
      jsonResponse({
        object: "dashboard.link",
        path: `/#/sign-in/${sessions.newCode()}`,
        expires_in_seconds: linkLifeMs / 1000,
      }),
  }),
  defineRoute("page", "POST /sign-in", {
    summary: "Turns the code of a one-time link into a session. The page sends the session as `x-millrace-session`.",
    guard: "open",
    query: { code: "from the link" },
    answer: z.object({ object: z.literal("session"), session: z.string() }),
    handle: signIn,
  }),
  defineRoute("page", "POST /sign-out", {
    summary: "Ends the dashboard's session.",
    dashboard: true,
    answer: z.object({ object: z.literal("session"), signed_in: z.literal(false) }),
    handle(parts, c) {
      parts.sessions.end(c.headers);
      return jsonResponse({ object: "session", signed_in: false });
    },
  }),
  defineRoute("page", "GET /", {
    summary: "The dashboard, or a short page if it was not built.",
    guard: "open",
    answers: "html",
    handle(parts) {
      const file = parts.dashboard?.get("/");
      if (file !== undefined) return fileReply(file);
      const headers = { "content-type": "text/html; charset=utf-8", "content-security-policy": "default-src 'none'" };
      return { status: 200, headers, body: page };
    },
  }),
];

const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Millrace</title>
<body><h1>Millrace</h1><p>This is a local gateway to the models of an IDE. Point a tool at <code>/v1</code> with the key
that <code>millrace keys</code> shows.</p>
<p>Its dashboard is not built: type <code>npm run build</code> in the clone, then restart the gateway.</p></body></html>
`;

/** The answer of a running turn in short, up to the event that its log held when it was asked for. */
async function readShort(parts: PageParts, turn: TurnRecord, signal: AbortSignal): Promise<readonly OutlinedEvent[]> {
  let short: readonly OutlinedEvent[] = [];
  if (turn.lastEventId === startOfLog) return short;
  const enough = new AbortController();
  for await (const event of parts.turns.outline(turn.turnId, startOfLog, AbortSignal.any([signal, enough.signal]))) {
    short = shorten(short, event);
    if (event.eventId >= turn.lastEventId) break;
  }
  enough.abort();
  return short;
}

function namesOf({ keyNameOf, models }: PageParts): Names {
  return { keyNameOf, modelNameOf: (uid) => models.nameOf(uid) };
}

/** Ends when the owner's key is replaced: nothing more goes to an onlooker whose key or session counts no longer. */
function stream(
  { stopping, ownerKey }: PageParts,
  c: GatewayContext,
  events: (signal: AbortSignal) => AsyncGenerator<WireEvent, void>,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  const signal = AbortSignal.any([c.signal, stopping]);
  const key = ownerKey?.();
  const isOver = () => key !== undefined && ownerKey?.().equals(key) === false;
  const body = async (response: ServerResponse) => {
    try {
      for await (const event of events(signal)) {
        if (isOver()) break;
        if (!response.write(writeSse(event))) await drained(response);
      }
    } catch (error) {
      if (!signal.aborted) throw error; // a client that disconnected would not get the error
    }
    response.end();
  };
  return { status: 200, headers: { ...sseHeaders, ...headers }, body };
}

export function fileReply(file: DashboardFile): Reply {
  const headers = {
    ...fileHeaders,
    "content-security-policy": policyOf(file),
    "content-type": file.type,
    // Built names change with their content; the page itself does not.
    "cache-control": file.isNamedByContent ? "public, max-age=31536000, immutable" : "no-cache",
  };
  return { status: 200, headers, body: file.body };
}

/** The only use of a code: no request that a browser, a preview or a scanner makes by itself uses the link up. */
function signIn(parts: PageParts, c: GatewayContext): Reply {
  const session = parts.sessions.redeem(c.query("code") ?? "");
  if (session !== undefined) return jsonResponse({ object: "session", session: session.reveal() }); // goes on the wire here
  throw new Refusal("not_yours", "This link was already used, or has expired.", {
    hint: "Make a new one: millrace dashboard",
  });
}
