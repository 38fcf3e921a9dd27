import { z } from "zod";
import type { ParsedTurn } from "../dialect.ts";
import { parseStop, stopSchema } from "../openai-chat/request.ts";
import { parseBody, refuse } from "../parse-body.ts";

/** The members of a body that are looked at, and their types. */
export const completionBody = z.object({
  model: z.string().min(1, "Name a model; GET /v1/models lists them."),
  prompt: z.union([z.string(), z.array(z.union([z.string(), z.number(), z.array(z.number())]))]).nullish(),
  suffix: z.string().nullish(),
  max_tokens: z.number().int().nonnegative().nullish(),
  stop: stopSchema,
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  echo: z.boolean().nullish(),
  n: z.number().nullish(),
  best_of: z.number().nullish(),
  logprobs: z.number().nullish(),
});

/** The reader's wishes for the stream, beside the answer. */
export interface CompletionWire {
  readonly includeUsage: boolean;
}

/**
 * Parses a legacy completion: one prompt, as the user's only message. The models here are chat models; features of base models (a
 * suffix, an echo, token ids) are refused by name.
 *
 * @throws MillraceError `invalid_request` with the path of the field.
 */
export function parseCompletionRequest(body: unknown): ParsedTurn & { readonly wire: CompletionWire } {
  const parsed = parseBody(completionBody, body);
  for (const name of ["n", "best_of"] as const) {
    const value = parsed[name];
    if (value !== undefined && value !== null && value !== 1)
      throw refuse(name, "Only one choice per request is supported.");
  }
  if (parsed.logprobs) throw refuse("logprobs", "Log probabilities are not available from these models.");
  if (parsed.echo === true) throw refuse("echo", "The prompt cannot be echoed.");
  if (parsed.suffix) throw refuse("suffix", "Insertion is not supported; put both sides into the prompt.");
  return {
    request: {
      model: parsed.model,
      messages: [{ role: "user", parts: [{ type: "text", text: onePrompt(parsed.prompt) }] }],
      tools: [],
      toolChoice: { type: "auto" },
      parallelToolCalls: true,
      responseFormat: { type: "text" },
      stop: parseStop(parsed.stop),
      ...(parsed.max_tokens ? { maxOutputTokens: parsed.max_tokens } : {}),
    },
    stream: parsed.stream ?? false,
    wire: { includeUsage: parsed.stream_options?.include_usage ?? false },
  };
}

function onePrompt(prompt: z.infer<typeof completionBody>["prompt"]): string {
  const [only, ...more] = Array.isArray(prompt) ? prompt : [prompt ?? ""];
  if (more.length > 0 && typeof only === "string") throw refuse("prompt", "Only one prompt per request is supported.");
  if (typeof only !== "string")
    throw refuse("prompt", "The prompt must be text; token ids mean nothing to these models.");
  if (only === "") throw refuse("prompt", "The prompt is empty.");
  return only;
}
