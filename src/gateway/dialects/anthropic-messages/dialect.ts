import type { Dialect } from "../dialect.ts";
import { encodeMessage, MessagesEncoder } from "./encode.ts";
import { encodeAnthropicError } from "./errors.ts";
import { parseMessagesRequest } from "./request.ts";

/** Anthropic Messages: `POST /v1/messages`. */
export const anthropicMessages: Dialect = {
  name: "anthropic-messages",
  parse: parseMessagesRequest,
  encoder: (context) => new MessagesEncoder(context),
  encodeAnswer: encodeMessage,
  encodeError: encodeAnthropicError,
};
