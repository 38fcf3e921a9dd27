import { z } from "zod";
import { startOfLog } from "../../base/ids.ts";
import { isObject, writeJson } from "../../base/json.ts";
import type { TurnRecord } from "../../log/store.ts";
import { answerOpenTurn, answerTurn, parseNamed, readAnswer } from "../answers/answer-turn.ts";
import { countTokens } from "../answers/count-tokens.ts";
import { emptyAnswer } from "../answers/empty-answer.ts";
import { followResponse } from "../answers/follow-response.ts";
import { startTurn, storedContext } from "../answers/start-turn.ts";
import { wireId } from "../dialects/dialect.ts";
import { compaction } from "../dialects/openai-responses/compaction.ts";
import { openAiResponses } from "../dialects/openai-responses/encode.ts";
import { inputItems } from "../dialects/openai-responses/input.ts";
import { parseResponsesRequest, type ResponsesWire, responsesBody } from "../dialects/openai-responses/request.ts";
import { responseObject, responsePrefix } from "../dialects/openai-responses/response-object.ts";
import type { GatewayContext, TurnParts } from "../http/context.ts";
import { jsonResponse, type Reply, sseHeaders, writeSse } from "../http/reply.ts";
import { graceMsOf } from "../http/request-headers.ts";
import { emptyResponse } from "../http/responses-conversation.ts";
import { keptHeaders, resumesTurn, startsTurn, tellsOfTurn } from "../http/route-headers.ts";
import { withPdfTexts } from "../pdf/pdf-parts.ts";
import { vendorAnswer } from "./answer-schemas.ts";
import { defineRoute, limitIn, type RouteInput } from "./route.ts";
import { answerNow, storedResponse, withStoredParts } from "./stored-responses.ts";

/** OpenAI Responses: create, retrieve, follow, cancel, delete, input items. All state is the turn's record and log. */
export const responsesRoutes = [
  defineRoute("turns", "POST /v1/responses", {
    summary: "OpenAI Responses: create.",
    body: responsesBody,
    answer: vendorAnswer,
    answers: "event-stream",
    headers: startsTurn,
    handle: (parts, c, { json }) => createResponse(parts, c, json),
  }),
  defineRoute("turns", "POST /v1/responses/compact", {
    summary: "OpenAI Responses: notes that stand for a conversation. It costs one prompt.",
    body: responsesBody,
    answer: vendorAnswer,
    headers: startsTurn,
    async handle(parts, c, { json }) {
      const { previous, body } = await withStoredParts(parts, c, json);
      return answerTurn(parts, c, compaction(previous), body);
    },
  }),
  defineRoute("turns", "POST /v1/responses/input_tokens", {
    summary: "Estimates the tokens of a Responses request.",
    body: responsesBody.partial({ model: true }),
    answer: z.object({ object: z.literal("response.input_tokens"), input_tokens: z.int() }),
    async handle(parts, c, { json }) {
      const { previous, body: sent } = await withStoredParts(parts, c, json);
      const { body } = await withPdfTexts(sent, parts.readPdf);
      const { request } = parseResponsesRequest({ model: "unnamed", ...(isObject(body) ? body : {}) }, previous);
      const tokens = await countTokens(parts, request, c.signal);
      return jsonResponse({ object: "response.input_tokens", input_tokens: tokens });
    },
  }),
  defineRoute("turns", "GET /v1/responses/{id}", {
    summary: "A response in its current state, or its events.",
    query: { stream: "`true`: events", starting_after: "only events after this `sequence_number`" },
    answer: vendorAnswer,
    answers: "event-stream",
    headers: resumesTurn,
    handle: withStored(async (parts, c, stored) => {
      const record = await parts.turns.noteReader(stored, graceMsOf(c.headers, c.search));
      if (c.query("stream") === "true") return followResponse(parts, c, record);
      if (record.ended) return wholeResponse(parts, c, record);
      return responseNow(parts, c, record);
    }),
  }),
  defineRoute("turns", "DELETE /v1/responses/{id}", {
    summary: "Ends a response if it runs, and deletes it.",
    answer: z.object({ id: z.string(), object: z.literal("response"), deleted: z.literal(true) }),
    handle: withStored(async (parts, _c, { turnId }) => {
      await parts.turns.remove(turnId);
      return jsonResponse({ id: wireId(responsePrefix, turnId), object: "response", deleted: true });
    }),
  }),
  defineRoute("turns", "POST /v1/responses/{id}/cancel", {
    summary: "Ends a response.",
    answer: vendorAnswer,
    headers: tellsOfTurn,
    handle: withStored(async (parts, c, record) => {
      await parts.turns.cancel(record.turnId, "client");
      const ended = (await parts.turns.get(record.turnId)) ?? record;
      return responseNow(parts, c, ended);
    }),
  }),
  defineRoute("turns", "GET /v1/responses/{id}/input_items", {
    summary: "The input of a response.",
    query: { order: "`asc` or `desc`", limit: "1 to 100", after: "id of an item" },
    answer: vendorAnswer,
    headers: tellsOfTurn,
    handle: withStored((_gateway, c, record) => jsonResponse(listInput(c, record), 200, keptHeaders(record))),
  }),
];

async function createResponse(parts: TurnParts, c: GatewayContext, json: unknown): Promise<Reply> {
  if (isObject(json) && json["generate"] === false) {
    const response = emptyResponse(json);
    const headers = { "x-millrace-answered-by": "gateway" };
    if (json["stream"] !== true) return jsonResponse(response, 200, headers);
    const events = ["response.created", "response.completed"].map((type, i) =>
      writeSse({ name: type, data: writeJson({ type, sequence_number: i, response }) }),
    );
    return { status: 200, headers: { ...sseHeaders, ...headers }, body: `${events.join("")}data: [DONE]\n\n` };
  }
  const { previous, body } = await withStoredParts(parts, c, json);
  const parsed = await parseNamed(parts, c, body, (read) => parseResponsesRequest(read, previous));
  const empty = await emptyAnswer(parts, c, openAiResponses, { ...parsed, wire: { ...parsed.wire, store: false } });
  if (empty !== undefined) return empty;
  const detached = parsed.wire.background;
  const turn = await startTurn(parts, c, { dialect: openAiResponses, parsed: { ...parsed, detached }, body: json });
  if (detached && !parsed.stream) {
    const answer = await answerNow(parts, c, turn.record);
    // once it was taken whole, asking the same again is another turn; a failure costs an answer given twice
    const noted = async (isTaken: boolean) => isTaken && parts.turns.noteDelivered(turn.turnId);
    return jsonResponse(responseObject(turn.context, answer), 200, turn.headers, noted);
  }
  return answerOpenTurn(parts, c, openAiResponses, turn);
}

/** A handler that gets the response named in the path; 404 if there is none that the caller may see. */
function withStored(
  then: (parts: TurnParts, c: GatewayContext, record: TurnRecord) => Reply | Promise<Reply>,
): (parts: TurnParts, c: GatewayContext, asked: RouteInput<"id">) => Promise<Reply> {
  return async (parts, c, { params: { id } }) => then(parts, c, await storedResponse(parts, c, id, "response_id"));
}

/** A response as far as the log has it now. */
async function responseNow(parts: TurnParts, c: GatewayContext, record: TurnRecord): Promise<Reply> {
  const answer = await answerNow(parts, c, record);
  return jsonResponse(responseObject(storedContext(parts, c, record, false), answer), 200, keptHeaders(record));
}

/** An ended response as one body. It is read like a stream, so that a client that took the whole body counts as answered. */
async function wholeResponse(parts: TurnParts, c: GatewayContext, record: TurnRecord): Promise<Reply> {
  const reader = parts.turns.open(record.turnId, startOfLog, c.signal);
  const { answer } = await readAnswer(reader, record.request);
  const body = responseObject(storedContext(parts, c, record, false), answer);
  return jsonResponse(body, 200, keptHeaders(record), reader.close);
}

function listInput(c: GatewayContext, { request, turnId, wire }: TurnRecord): unknown {
  const own = request.messages.slice((wire as ResponsesWire).ownFrom); // as in wireOf
  const ordered = [...inputItems(own, turnId)];
  if (c.query("order") !== "asc") ordered.reverse();
  const after = ordered.findIndex((item) => item.id === c.query("after"));
  const limit = limitIn(c.search, 20, 100);
  const data = ordered.slice(after + 1, after + 1 + limit);
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: after + 1 + limit < ordered.length,
  };
}
