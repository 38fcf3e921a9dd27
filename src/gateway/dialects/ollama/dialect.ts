import type { Dialect } from "../dialect.ts";
import { encodeOllamaAnswer, OllamaEncoder } from "./encode.ts";
import { encodeOllamaError } from "./errors.ts";
import { parseOllamaRequest } from "./request.ts";

/** Ollama: `POST /api/chat` and `POST /api/generate`, whose bodies differ in how they say the question. */
export const ollama: Dialect = {
  name: "ollama",
  framing: "lines",
  parse: parseOllamaRequest,
  encoder: (context) => new OllamaEncoder(context),
  encodeAnswer: encodeOllamaAnswer,
  encodeError: encodeOllamaError,
};
