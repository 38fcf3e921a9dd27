import type { Dialect } from "../dialect.ts";
import { encodeOpenAiError } from "../openai-errors.ts";
import { CompletionEncoder, encodeCompletion } from "./encode.ts";
import { parseCompletionRequest } from "./request.ts";

/** OpenAI's legacy completions: `POST /v1/completions`. */
export const openAiCompletions: Dialect = {
  name: "openai-completions",
  parse: parseCompletionRequest,
  encoder: (context) => new CompletionEncoder(context),
  encodeAnswer: encodeCompletion,
  encodeError: encodeOpenAiError,
};
