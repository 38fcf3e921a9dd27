import { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import type { Gateway, GatewayContext } from "../http/context.ts";
import { jsonResponse, type Reply } from "../http/reply.ts";
import { consentsSchema } from "./answer-schemas.ts";
import { defineOwnerRoute } from "./route.ts";

const agreement = z.object({ ide: z.string(), agree: z.literal(true) });

/** The routes of `millrace init --accept`, for the dashboard. */
export const consentRoutes = [
  defineOwnerRoute("GET /dashboard/api/consents", {
    summary: "The IDEs here that prompts go to, and since when their user agrees to it; the owner only.",
    answer: consentsSchema,
    handle: listConsents,
  }),
  defineOwnerRoute("POST /dashboard/api/consents", {
    summary: "Agrees, once, that prompts go to one of those IDEs; the owner only.",
    body: agreement,
    answer: consentsSchema,
    async handle(gateway, c, asked) {
      const { data } = agreement.safeParse(asked.json);
      const isGiven = data !== undefined && (await gateway.consents?.give(data.ide, c.signal)) === true;
      if (isGiven) return listConsents(gateway, c);
      throw new MillraceError("invalid_request", "The body must name an IDE that prompts go to.", {
        hint: 'Send `{"ide": "devin", "agree": true}`. `GET /dashboard/api/consents` lists the IDEs.',
        param: "ide",
      });
    },
  }),
];

async function listConsents({ consents }: Gateway, c: GatewayContext): Promise<Reply> {
  const listed = (await consents?.list(c.signal)) ?? [];
  const data = listed.map(({ acceptedAt, ...rest }) => ({ ...rest, accepted_at: acceptedAt }));
  return jsonResponse({ object: "list", data });
}
