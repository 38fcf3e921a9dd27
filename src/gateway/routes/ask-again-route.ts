import { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import type { ModelUid } from "../../base/ids.ts";
import type { TurnRecord } from "../../log/store.ts";
import { callerOf, type GatewayContext, type TurnParts } from "../http/context.ts";
import { Refusal } from "../http/refusal.ts";
import { jsonResponse, type Reply } from "../http/reply.ts";
import { askedAgainSchema } from "./answer-schemas.ts";
import { defineOwnerRoute } from "./route.ts";
import { turnSealed, withTurn } from "./turns-routes.ts";

/** `once` names this consent: a request that is repeated on its way has the same, and sends nothing a second time. */
const consent = z.object({ consent: z.literal(true), once: z.string().regex(/^[\w-]{8,64}$/) });

/** The client that a turn has when the owner asked again from the dashboard. */
const client = "millrace-dashboard";

/**
 * Sends the prompt of an ended turn once more, as a new turn. A second prompt costs again, so the body must contain the owner's
 * consent. Each consent is one prompt, even if its request arrives several times.
 */
export const askAgainRoute = defineOwnerRoute("turns", "POST /dashboard/api/turns/{id}/ask-again", {
  summary: "Sends the prompt of an ended turn again, as a new turn. Only for the owner, with consent.",
  body: consent,
  answer: askedAgainSchema,
  handle(parts, c, asked) {
    const { data } = consent.safeParse(asked.json);
    if (data !== undefined) return withTurn((_, __, turn) => askAgain(parts, c, turn, data.once))(parts, c, asked);
    throw new MillraceError("invalid_request", "Asking again sends the prompt a second time, and it costs again.", {
      hint: 'Send `{"consent": true, "once": "1b4e28ba-2fa1"}`, where `once` is new for each consent.',
      param: "consent",
    });
  },
});

async function askAgain({ turns }: TurnParts, c: GatewayContext, turn: TurnRecord, once: string): Promise<Reply> {
  if (turn.sealed === true) throw turnSealed(turn);
  if (!turn.ended)
    throw new Refusal("not_now", "This turn still runs.", {
      hint: "Wait for its end, or cancel it first.",
    });
  const { turnId } = await turns.start(
    {
      dialect: turn.dialect,
      request: turn.request,
      modelUid: turn.modelUid as ModelUid, // it was one when the turn was stored
      modelNumber: turn.modelNumber,
      modelRule: turn.modelRule,
      caller: callerOf(c).digest,
      fingerprint: `again-${once}`,
      idempotencyKey: `again-${once}`,
      session: undefined,
      client,
      project: turn.project,
      wire: turn.wire,
      graceMs: Number.POSITIVE_INFINITY,
    },
    c.signal,
  );
  return jsonResponse({ object: "turn", id: turnId, again_of: turn.turnId });
}
