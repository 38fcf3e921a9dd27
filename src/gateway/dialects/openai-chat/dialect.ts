import type { Dialect } from "../dialect.ts";
import { encodeOpenAiError } from "../openai-errors.ts";
import { ChatEncoder, encodeChatAnswer } from "./encode.ts";
import { parseChatRequest } from "./request.ts";

/** OpenAI Chat Completions: `POST /v1/chat/completions`. */
export const openAiChat: Dialect = {
  name: "openai-chat",
  parse: parseChatRequest,
  encoder: (context) => new ChatEncoder(context),
  encodeAnswer: encodeChatAnswer,
  encodeError: encodeOpenAiError,
};
