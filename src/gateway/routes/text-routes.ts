import { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import type { Gateway, GatewayContext } from "../http/context.ts";
import { Refusal } from "../http/refusal.ts";
import { jsonResponse, type Reply } from "../http/reply.ts";
import { defineOwnerRoute } from "./route.ts";

/** Showing needs the owner's consent in the body, as a second prompt does; hiding needs none. */
const choice = z.union([
  z.object({ show: z.literal(true), consent: z.literal(true) }),
  z.object({ show: z.literal(false) }),
]);

const answer = z.object({ object: z.literal("texts"), shown: z.boolean() });

/**
 * Whether a session of the dashboard shows prompts and answers. The choice belongs to that session and ends with it: another tab, or the
 * next sign-in, shows none.
 */
export const textRoutes = [
  defineOwnerRoute("GET /dashboard/api/texts", {
    summary: "Whether this session of the dashboard shows prompts and answers. Only for the owner.",
    answer,
    handle: shownTexts,
  }),
  defineOwnerRoute("POST /dashboard/api/texts", {
    summary: "Shows prompts and answers in this session, with consent, or hides them. Only for the owner.",
    body: choice,
    answer,
    handle(gateway, c, asked) {
      const { data } = choice.safeParse(asked.json);
      if (data === undefined)
        throw new MillraceError("invalid_request", "Texts are shown only with the owner's consent.", {
          hint: 'Send `{"show": true, "consent": true}`, or `{"show": false}` to hide them.',
          param: "consent",
        });
      if (gateway.sessions.setTexts(c.headers, data.show)) return shownTexts(gateway, c);
      throw new Refusal(409, "invalid_request", "Only a session of the dashboard shows or hides texts.", {
        hint: "With the key, `GET /v1/turns/{id}/events` reads an answer.",
      });
    },
  }),
];

function shownTexts({ sessions }: Gateway, c: GatewayContext): Reply {
  return jsonResponse({ object: "texts", shown: sessions.showsTexts(c.headers) });
}
