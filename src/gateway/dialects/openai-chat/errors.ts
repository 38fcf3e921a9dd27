import type { ErrorRecord } from "../../../base/errors.ts";
import type { WireEvent } from "../dialect.ts";
import { openAiErrorBody } from "../openai-errors.ts";

/**
 * An error in the middle of a stream: the SDKs throw on a member `error`. No `[DONE]` follows, since the answer is not
 * complete. Source: docs/wire/clients.md, "Chat Completions".
 */
export function encodeStreamError(error: ErrorRecord, requestId: string): WireEvent {
  return { data: JSON.stringify({ error: openAiErrorBody(error, requestId) }) };
}
