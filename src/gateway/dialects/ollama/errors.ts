import type { ErrorRecord } from "../../../base/errors.ts";
import type { WireError } from "../dialect.ts";
import { encodeOpenAiError } from "../openai-errors.ts";

/** An error as Ollama writes it, whole and in a stream: its clients show `error` as it is. Source: docs/wire/clients.md, "Ollama". */
export function ollamaErrorBody({ message, hint }: ErrorRecord): { readonly error: string } {
  return { error: `${message} ${hint}`.trim() };
}

/** Status and headers are OpenAI's. */
export function encodeOllamaError(error: ErrorRecord, requestId: string): WireError {
  return { ...encodeOpenAiError(error, requestId), body: ollamaErrorBody(error) };
}
