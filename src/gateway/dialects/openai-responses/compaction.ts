import { isObject, type JsonObject } from "../../../base/json.ts";
import type { Message } from "../../../log/request.ts";
import type { Answer } from "../answer.ts";
import { type Dialect, type EncodeContext, wireId } from "../dialect.ts";
import { openAiResponses } from "./encode.ts";
import { parseResponsesRequest } from "./request.ts";
import { compactionItems, responseObject, responsePrefix } from "./response-object.ts";

/**
 * `POST /v1/responses/compact`: one prompt that asks for notes. The answer is the user's messages and one item that holds the notes,
 * which a later request brings back. `previous`: as for a response. Source: docs/dev/wire/clients.md, "Responses".
 */
export function compaction(previous: readonly Message[]): Dialect {
  return {
    ...openAiResponses,
    name: "openai-compaction",
    parse(body) {
      const parsed = parseResponsesRequest(body, previous, true);
      const kept = isObject(body) ? userMessages(body.input) : [];
      return { ...parsed, stream: false, wire: { ...parsed.wire, kept } };
    },
    encodeAnswer: encodeCompaction,
  };
}

/** As items of an output have it: with a type, and with a list of parts. */
function userMessages(input: unknown): readonly JsonObject[] {
  const items: readonly unknown[] = Array.isArray(input) ? input : input ? [{ role: "user", content: input }] : [];
  return items.filter(isObject).flatMap((item) => {
    if (item.role !== "user") return [];
    const { content } = item;
    const parts = typeof content === "string" ? [{ type: "input_text", text: content }] : content;
    return [{ ...item, type: "message", content: parts }];
  });
}

function encodeCompaction(context: EncodeContext, answer: Answer): JsonObject {
  const { kept } = context.parsed.wire as { readonly kept: readonly JsonObject[] }; // set by `parse` above
  const messages = kept.map((item, i) => ({
    id: `${wireId("msg_", context.turnId)}_${i}`,
    status: "completed",
    ...item,
  }));
  return {
    id: wireId(responsePrefix, context.turnId),
    object: "response.compaction",
    created_at: Math.floor(context.createdAtMs / 1000),
    output: [...messages, ...compactionItems(context, answer)],
    usage: responseObject(context, answer)["usage"],
  };
}
