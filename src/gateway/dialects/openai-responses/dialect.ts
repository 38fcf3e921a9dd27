import type { Dialect } from "../dialect.ts";
import { encodeOpenAiError } from "../openai-errors.ts";
import { encodeResponse, ResponsesEncoder } from "./encode.ts";
import { parseResponsesRequest } from "./request.ts";

/** OpenAI Responses: `POST /v1/responses`. The route looks up the response that a request continues. */
export const openAiResponses: Dialect = {
  name: "openai-responses",
  parse: (body) => parseResponsesRequest(body, []),
  encoder: (context) => new ResponsesEncoder(context),
  encodeAnswer: encodeResponse,
  encodeError: encodeOpenAiError,
};
