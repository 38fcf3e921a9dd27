import { newTurnId } from "../../base/ids.ts";
import { estimateTokens } from "../../base/token-estimate.ts";
import { eventIdOf, type TurnEvent } from "../../log/event.ts";
import { AnswerFold } from "../dialects/answer.ts";
import type { Dialect, ParsedTurn } from "../dialects/dialect.ts";
import type { GatewayContext, TurnParts } from "../http/context.ts";
import { jsonResponse, linesHeaders, type Reply, sseHeaders, writeSse } from "../http/reply.ts";
import { countTokens } from "./count-tokens.ts";
import { leftOutHeaders } from "./start-turn.ts";

/**
 * The answer to a request for no tokens at all, with which clients warm a cache: empty, and ended by its length. No model is asked and
 * nothing is stored. Undefined for a request that wants tokens. Source: docs/http-api.md, "What the APIs get".
 *
 * @throws MillraceError what resolving the model's name throws.
 */
export async function emptyAnswer(
  parts: TurnParts,
  c: GatewayContext,
  dialect: Dialect,
  parsed: ParsedTurn,
): Promise<Reply | undefined> {
  const { request, stream } = parsed;
  if (request.maxOutputTokens !== 0) return undefined;
  await parts.models.resolve(request.model, request.reasoningEffort, c.signal);
  const nowMs = parts.clock.now();
  const context = {
    turnId: newTurnId(nowMs),
    createdAtMs: nowMs,
    parsed,
    requestId: c.requestId,
    promptTokens: await countTokens(parts, request, c.signal),
    estimateTokens,
  };
  const reason = { unified: "length", raw: undefined } as const;
  const finished: TurnEvent = { eventId: eventIdOf(1), atMs: nowMs, type: "finished", reason, text: "" };
  const headers = { "x-millrace-answered-by": "gateway", ...leftOutHeaders(parsed) };
  if (!stream) {
    const fold = new AnswerFold(request);
    fold.push(finished);
    return jsonResponse(dialect.encodeAnswer(context, fold.answer), 200, headers);
  }
  const encoder = dialect.encoder(context);
  const events = [...encoder.open(), ...encoder.encode(finished)];
  const { framing } = dialect;
  const body = events.map((event) => (framing === undefined ? writeSse(event) : `${event.data}\n`)).join("");
  const framed = framing === undefined ? sseHeaders : linesHeaders(framing);
  return { status: 200, headers: { ...framed, ...headers }, body };
}
