import { MillraceError } from "../../base/errors.ts";
import { startOfLog, type TurnId, timeOf } from "../../base/ids.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import type { Message } from "../../log/request.ts";
import { defaultRetention, type TurnRecord } from "../../log/store.ts";
import { storedContext } from "../answers/start-turn.ts";
import { type Answer, AnswerFold, answerMessage, textOf } from "../dialects/answer.ts";
import { turnIdOf } from "../dialects/dialect.ts";
import { compaction } from "../dialects/openai-responses/compaction.ts";
import { openAiResponses } from "../dialects/openai-responses/encode.ts";
import { inputItems, isOutput, notesMessage } from "../dialects/openai-responses/input.ts";
import { previousIdOf, type ResponsesWire } from "../dialects/openai-responses/request.ts";
import { responseObject, responsePrefix } from "../dialects/openai-responses/response-object.ts";
import type { GatewayContext, TurnParts } from "../http/context.ts";
import { Refusal } from "../http/refusal.ts";
import { ownTurn } from "./turns-routes.ts";

/** A response of this caller that was made to be kept (`store`). `param`: where the request names it. */
export async function storedResponse(
  parts: TurnParts,
  c: GatewayContext,
  id: string,
  param: string,
): Promise<TurnRecord> {
  const turnId = turnIdOf(responsePrefix, id);
  const record = turnId === undefined ? undefined : await ownTurn(parts, c, turnId);
  if (record?.dialect === openAiResponses.name && wireOf(record).store) return record;
  throw unknown(`There is no response \`${id.slice(0, 80)}\`.`, param);
}

function unknown(message: string, param: string): Refusal {
  const hint = "Responses are kept for a limited time, and only with `store`.";
  return new Refusal("not_found", message, { param, hint });
}

/** The record of a response that this dialect stored holds its own wire data. */
function wireOf(record: TurnRecord): ResponsesWire {
  return record.wire as ResponsesWire;
}

/** The answer as far as the log has it now. */
export async function answerNow(
  { turns }: Pick<TurnParts, "turns">,
  c: GatewayContext,
  record: TurnRecord,
): Promise<Answer> {
  const fold = new AnswerFold(record.request);
  if (record.lastEventId === startOfLog) return fold.answer;
  for await (const event of turns.follow(record.turnId, startOfLog, c.signal)) {
    fold.push(event);
    if (event.eventId >= record.lastEventId) break;
  }
  return fold.answer;
}

/**
 * A body with the stored items in the place of the references to them, and the messages of the response that it continues. A reference to an
 * item whose time is over stays, and is left out of the history like any other item that cannot be read: its client would send it for ever.
 *
 * @throws Refusal with status 404 for an id that this gateway did not give out.
 */
export async function withStoredParts(
  parts: TurnParts,
  c: GatewayContext,
  json: unknown,
): Promise<{ readonly previous: readonly Message[]; readonly body: unknown }> {
  const previousId = previousIdOf(json);
  const previous =
    previousId === undefined
      ? []
      : await messagesOf(parts, c, await storedResponse(parts, c, previousId, "previous_response_id"));
  return { previous, body: await withStoredItems(parts, c, json) };
}

/** Responses that one body may refer to. A conversation of so many turns has long been compacted. */
const mostResponses = 1_000;

async function withStoredItems(parts: TurnParts, c: GatewayContext, json: unknown): Promise<unknown> {
  if (!isObject(json) || !Array.isArray(json["input"]) || !json["input"].some(isReference)) return json;
  const responses = new Map<string, readonly JsonObject[] | "over">();
  const input: unknown[] = [];
  for (const [i, item] of json["input"].entries()) {
    if (!isReference(item)) {
      input.push(item);
      continue;
    }
    const { id, type } = item;
    const [, key] = /^[a-z]+_([0-9a-z]{26})(?:_\d+)?$/.exec(id) ?? [];
    const refusal = () => unknown(`There is no item \`${id.slice(0, 80)}\`.`, `input[${i}].id`);
    if (key === undefined && type !== "item_reference") {
      input.push(item); // some item of a client's own
      continue;
    }
    if (key === undefined) throw refusal();
    if (responses.size >= mostResponses) throw refusal();
    const items =
      responses.get(key) ?? (await itemsOf(parts, c, key).catch((error: unknown) => orNone(error, key, parts)));
    responses.set(key, items);
    if (items === "over") {
      input.push(item, ...(id.startsWith("msg_") ? [noLongerKept] : []));
      continue;
    }
    const found = items.find((one) => one["id"] === id);
    if (found === undefined) throw refusal();
    input.push(found);
  }
  return { ...json, input: [...responses.values()].includes("over") ? withCalls(input) : input };
}

/** In place of an answer whose time is over. */
const noLongerKept = { type: "message", role: "assistant", content: "(An answer that is no longer kept.)" };

/** The input with a call before each output whose own call is no longer kept. */
function withCalls(input: readonly unknown[]): readonly unknown[] {
  const called = new Set(input.flatMap((item) => (isObject(item) && !isOutput(item["type"]) ? [item["call_id"]] : [])));
  return input.flatMap((item) => {
    if (!isObject(item) || !isOutput(item["type"]) || called.has(item["call_id"])) return [item];
    return [{ type: "function_call", call_id: item["call_id"], name: "no_longer_kept", arguments: "{}" }, item];
  });
}

/** The type of a reference may be left out. */
function isReference(item: unknown): item is { readonly id: string; readonly type?: unknown } {
  if (!isObject(item) || typeof item["id"] !== "string") return false;
  const { type } = item;
  const isBare = (type === undefined || type === null) && !("role" in item) && !("content" in item);
  return isBare || type === "item_reference";
}

function orNone(error: unknown, key: string, { clock }: TurnParts): readonly JsonObject[] | "over" {
  if (error instanceof MillraceError && error.code === "expired") return "over";
  if (!(error instanceof Refusal)) throw error;
  const madeAtMs = timeOf(key);
  return madeAtMs !== undefined && madeAtMs < clock.now() - defaultRetention.tombstoneMs ? "over" : [];
}

/** The items of a stored response: its own input, and its output. `key`: the common part of their ids. */
async function itemsOf(parts: TurnParts, c: GatewayContext, key: string): Promise<readonly JsonObject[]> {
  const asked = await ownTurn(parts, c, `turn_${key}` as TurnId); // `key` has the form of one
  if (asked?.dialect === "openai-compaction" && wireOf(asked).store) {
    const answer = await answerNow(parts, c, asked);
    if (answer.end?.type !== "finished") return [];
    const whole = compaction([]).encodeAnswer(storedContext(parts, c, asked, false), answer) as JsonObject; // as it makes it
    return whole["output"] as JsonObject[];
  }
  const record = await storedResponse(parts, c, `${responsePrefix}${key}`, "input");
  const own = inputItems(record.request.messages.slice(wireOf(record).ownFrom), record.turnId);
  const response = responseObject(storedContext(parts, c, record, false), await answerNow(parts, c, record));
  return [...own, ...(response["output"] as JsonObject[])]; // a list of items, as responseObject makes it
}

/** The history for a request that continues this response: the response's input and answer, without its instructions. */
async function messagesOf(parts: TurnParts, c: GatewayContext, record: TurnRecord): Promise<readonly Message[]> {
  const answer = await answerNow(parts, c, record);
  if (answer.end?.type !== "finished") {
    throw new MillraceError("invalid_request", "The previous response did not finish.", {
      param: "previous_response_id",
      hint: "Wait until its status is completed, or send the whole input instead.",
    });
  }
  const { compacts, echo } = wireOf(record);
  if (compacts === true) return [notesMessage(textOf(answer.blocks))];
  return [...record.request.messages.slice(echo["instructions"] ? 1 : 0), answerMessage(answer.blocks)];
}
