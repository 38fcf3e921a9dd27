import { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import { defaultRetention } from "../../log/store.ts";
import type { GatewayContext, PageParts } from "../http/context.ts";
import { Refusal } from "../http/refusal.ts";
import { jsonResponse, type Reply } from "../http/reply.ts";
import { consentsSchema } from "./answer-schemas.ts";
import { defineOwnerRoute } from "./route.ts";

const agreement = z.object({ ide: z.string(), agree: z.literal(true) });

/** The routes of `millrace init --accept`, for the dashboard. */
export const consentRoutes = [
  defineOwnerRoute("page", "GET /dashboard/api/consents", {
    summary: "The IDEs here that prompts go to, and since when their user agrees to it; the owner only.",
    answer: consentsSchema,
    handle: listConsents,
  }),
  defineOwnerRoute("page", "POST /dashboard/api/consents", {
    summary: "Agrees, once, that prompts go to one of those IDEs; the owner only.",
    body: agreement,
    answer: consentsSchema,
    async handle(parts, c, asked) {
      const { data } = agreement.safeParse(asked.json);
      const isGiven = data !== undefined && (await parts.consents?.give(data.ide, c.signal)) === true;
      if (isGiven) return listConsents(parts, c);
      throw new MillraceError("invalid_request", "The body must name an IDE that prompts go to.", {
        hint: 'Send `{"ide": "devin", "agree": true}`. `GET /dashboard/api/consents` lists the IDEs.',
        param: "ide",
      });
    },
  }),
];

async function listConsents({ consents }: PageParts, c: GatewayContext): Promise<Reply> {
  const listed = (await consents?.list(c.signal)) ?? [];
  const data = listed.map(({ acceptedAt, ...rest }) => ({ ...rest, accepted_at: acceptedAt }));
  return jsonResponse({ object: "list", data });
}

/** Showing needs the owner's consent in the body, as a second prompt does; hiding needs none. */
const choice = z.union([
  z.object({ show: z.literal(true), consent: z.literal(true) }),
  z.object({ show: z.literal(false) }),
]);

const answer = z.object({ object: z.literal("texts"), shown: z.boolean(), kept_seconds: z.number() });

/**
 * Whether a session of the dashboard shows prompts and answers. The choice belongs to that session and ends with it: the next sign-in
 * shows them where the gateway's setting says so.
 */
export const textRoutes = [
  defineOwnerRoute("page", "GET /dashboard/api/texts", {
    summary:
      "Whether this session of the dashboard shows prompts and answers, and how long they are kept. Only for the owner.",
    answer,
    handle: shownTexts,
  }),
  defineOwnerRoute("page", "POST /dashboard/api/texts", {
    summary: "Shows prompts and answers in this session, with consent, or hides them. Only for the owner.",
    body: choice,
    answer,
    handle(parts, c, asked) {
      const { data } = choice.safeParse(asked.json);
      if (data === undefined)
        throw new MillraceError("invalid_request", "Texts are shown only with the owner's consent.", {
          hint: 'Send `{"show": true, "consent": true}`, or `{"show": false}` to hide them.',
          param: "consent",
        });
      if (parts.sessions.setTexts(c.headers, data.show)) return shownTexts(parts, c);
      throw new Refusal("not_now", "Only a session of the dashboard shows or hides texts.", {
        hint: "With the key, `GET /v1/turns/{id}/events` reads an answer.",
      });
    },
  }),
];

function shownTexts({ sessions, keptMs = defaultRetention.keptMs }: PageParts, c: GatewayContext): Reply {
  return jsonResponse({ object: "texts", shown: sessions.showsTexts(c.headers), kept_seconds: keptMs / 1000 });
}
