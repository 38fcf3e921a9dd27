import { z } from "zod";
import type { TurnRequest } from "../../../log/request.ts";
import { bounds } from "../bounds.ts";
import type { ParsedTurn } from "../dialect.ts";
import { History } from "../history.ts";
import { messagesSchema, readMessages } from "../messages/any-message.ts";
import { effortIn, nameAModel, noteOfHosted, outputLimit, parseBody, refuse, stopSequences } from "../parse-body.ts";
import { formatIn, formatMembers } from "../response-format.ts";
import { demandsHosted, parseToolChoice, toolChoiceSchema } from "../tool-choice.ts";
import { functionsSchema } from "../tool-forms.ts";
import { functionCallSchema, parseTools, toolsSchema } from "./tools.ts";

/** Programs written for local servers send -1 for "no limit". */
const tokens = z.number().int().min(-1).nullish();

/** The members of a body that are looked at, and their types. */
export const chatBody = z.object({
  model: z.string().min(1, nameAModel()),
  messages: messagesSchema,
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: tokens,
  max_completion_tokens: tokens,
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  tools: toolsSchema,
  functions: functionsSchema,
  tool_choice: toolChoiceSchema,
  function_call: functionCallSchema,
  parallel_tool_calls: z.boolean().nullish(),
  ...formatMembers,
  reasoning_effort: z.string().nullish(),
  n: z.number().nullish(),
  logprobs: z.unknown().optional(),
  top_logprobs: z.unknown().optional(),
  modalities: z.array(z.string()).nullish(),
  audio: z.unknown().optional(),
  web_search_options: z.unknown().optional(),
});

/** The reader's wishes for the stream, beside the answer. */
export interface ChatWire {
  readonly includeUsage: boolean;
}

/**
 * Parses a chat completion request. Members that would change the answer and that Millrace cannot honour are refused by name (`n`,
 * `logprobs`, audio). Hints (`store`, `metadata`, `temperature`, `seed`, `user`) and unknown members are ignored.
 *
 * @throws MillraceError `invalid_request`. Source: docs/dev/wire/requirements.json.
 */
export function parseChatRequest(body: unknown): ParsedTurn & { readonly wire: ChatWire } {
  const parsed = parseBody(chatBody, body);
  refuseUnsupported(parsed);
  const offered = parseTools(parsed.tools, parsed.functions);
  const search = parsed.web_search_options && !offered.ignored.includes("web_search") ? ["web_search"] : [];
  const ignoredTools = [...offered.ignored, ...search];
  const isNeeded = offered.tools.length === 0 || demandsHosted(parsed.tool_choice, offered.tools);
  const legacy = parsed.function_call;
  const asked = parsed.tool_choice ?? (typeof legacy === "object" && legacy ? { type: "function", ...legacy } : legacy);
  const { choice, tools } = parseToolChoice(offered.tools.length === 0 ? null : asked, offered.tools);
  const history = new History();
  const effort = effortIn(body);
  const request: TurnRequest = {
    model: parsed.model,
    messages: [...noteOfHosted(ignoredTools, isNeeded), ...readMessages(parsed.messages, history)],
    tools,
    toolChoice: choice,
    parallelToolCalls: parsed.parallel_tool_calls ?? true,
    responseFormat: formatIn(parsed, false),
    stop: stopSequences(parsed.stop, "stop", bounds.stop.sequences.openai),
    ...outputLimit(parsed.max_completion_tokens ?? parsed.max_tokens),
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
  };
  const includeUsage = parsed.stream_options?.include_usage ?? false;
  return {
    request,
    stream: parsed.stream ?? false,
    wire: { includeUsage },
    ignoredTools,
    leftOut: history.leftOut,
  };
}

function refuseUnsupported(body: z.infer<typeof chatBody>): void {
  if (body.n !== undefined && body.n !== null && body.n !== 1) {
    throw refuse("n", "Only one choice per request is supported.", "Send `n: 1`, or one request per choice.");
  }
  if (body.logprobs !== undefined && body.logprobs !== null && body.logprobs !== false) {
    throw refuse("logprobs", "Log probabilities are not available from these models.");
  }
  if (body.top_logprobs !== undefined && body.top_logprobs !== null && body.top_logprobs !== 0) {
    throw refuse("top_logprobs", "Log probabilities are not available from these models.");
  }
  if (body.modalities?.some((modality) => modality !== "text"))
    throw refuse("modalities", "Only text can be answered.");
  if (body.audio !== undefined && body.audio !== null) throw refuse("audio", "Only text can be answered.");
}
