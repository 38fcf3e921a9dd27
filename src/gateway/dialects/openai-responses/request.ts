import { z } from "zod";
import { isObject } from "../../../base/json.ts";
import type { Message, TurnRequest } from "../../../log/request.ts";
import { content, parseSystem } from "../content.ts";
import type { ParsedTurn } from "../dialect.ts";
import { History, pairResults } from "../history.ts";
import {
  effortIn,
  nameAModel,
  noteOfHosted,
  otherApi,
  outputLimit,
  parseBody,
  refuse,
  textParts,
} from "../parse-body.ts";
import { formatIn, formatMembers } from "../response-format.ts";
import { demandsHosted, parseToolChoice, toolChoiceSchema } from "../tool-choice.ts";
import { inputSchema, parseInput, toolsOfItems } from "./input.ts";
import { type NamespacedName, parseTools, toolsSchema } from "./tools.ts";

/** The members of a body that are looked at, and their types. */
export const responsesBody = z.object({
  model: z.string().min(1, nameAModel()),
  input: inputSchema,
  instructions: content.nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.unknown().optional(),
  prompt: z.unknown().optional(),
  stream: z.boolean().nullish(),
  background: z.boolean().nullish(),
  store: z.boolean().nullish(),
  tools: toolsSchema,
  tool_choice: toolChoiceSchema,
  parallel_tool_calls: z.boolean().nullish(),
  max_output_tokens: z.number().int().nonnegative().nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish() }).nullish(),
  ...formatMembers,
  metadata: z.record(z.string(), z.unknown()).nullish(),
  top_logprobs: z.number().nullish(),
});

/** The request's part of a response, kept with the turn for showing the response again after a restart. */
export interface ResponsesWire {
  readonly store: boolean;
  readonly background: boolean;
  readonly previousResponseId: string | null;
  /** The number of leading messages that are not this response's own input: instructions, then earlier messages. */
  readonly ownFrom: number;
  readonly namespaced: Readonly<Record<string, NamespacedName>>;
  /** The answer is notes of the conversation, as one item. */
  readonly compacts?: boolean;
  /** Members of the body that the response object repeats as they came. */
  readonly echo: Readonly<Record<string, unknown>>;
}

const echoed = [
  "instructions",
  "metadata",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "max_output_tokens",
  "reasoning",
  "text",
  "temperature",
  "top_p",
  "truncation",
  "user",
  "prompt_cache_key",
  "safety_identifier",
] as const;

/**
 * A Responses request. `previous` are the messages of the response that it continues; instructions stand before them, and
 * those of the earlier response are not carried over, as the API has it. `asksForNotes`: the answer is notes that stand for the
 * conversation; the input may say so too. They need no tools, so none is refused.
 *
 * @throws MillraceError `invalid_request` with the path of the field. Source: docs/dev/wire/clients.md, "Responses".
 */
export function parseResponsesRequest(
  body: unknown,
  previous: readonly Message[],
  asksForNotes = false,
): ParsedTurn & { readonly wire: ResponsesWire } {
  const parsed = parseBody(responsesBody, body);
  const raw = body as Readonly<Record<string, unknown>>; // parseBody made sure that it is an object
  for (const name of ["conversation", "prompt"] as const) {
    if (parsed[name] !== undefined && parsed[name] !== null) {
      throw refuse(name, "This is not supported.", "Send the whole input, or `previous_response_id`.");
    }
  }
  if (parsed.top_logprobs) throw refuse("top_logprobs", "Log probabilities are not available from these models.");
  const background = parsed.background ?? false;
  if (background && parsed.store === false) throw refuse("store", "A background response must be stored.");
  const { items, isTriggered } = withoutTrigger(parsed.input);
  const compacts = asksForNotes || isTriggered;
  const {
    tools: offered,
    ignored,
    namespaced,
  } = compacts ? noTools : parseTools(parsed.tools, toolsOfItems(parsed.input));
  const { choice, tools } = parseToolChoice(compacts ? "auto" : parsed.tool_choice, offered);
  const isNeeded = offered.length === 0 || demandsHosted(parsed.tool_choice, offered);
  const history = new History();
  const instructions = [
    ...parseSystem(parsed.instructions, "instructions", history),
    ...noteOfHosted(ignored, isNeeded),
  ];
  const own = parseInput(items, history);
  history.refuseUnreadable(own, "input");
  if (own.length === 0 && (previous.length === 0 || !compacts))
    throw refuse("input", "The input is empty.", otherApi(raw, "input"));
  const effort = effortIn(body);
  const request: TurnRequest = {
    model: parsed.model,
    messages: [...instructions, ...pairResults([...previous, ...own]), ...(compacts ? [askForNotes] : [])],
    tools,
    toolChoice: choice,
    parallelToolCalls: parsed.parallel_tool_calls ?? true,
    responseFormat: compacts ? { type: "text" } : formatIn(parsed, false),
    stop: [],
    ...outputLimit(parsed.max_output_tokens),
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
  };
  const given = parsed as Readonly<Record<string, unknown>>;
  return {
    request,
    stream: parsed.stream ?? false,
    ignoredTools: ignored,
    leftOut: history.leftOut,
    wire: {
      ...(compacts ? { compacts } : {}),
      store: parsed.store ?? true,
      background,
      previousResponseId: parsed.previous_response_id ?? null,
      ownFrom: instructions.length + previous.length,
      namespaced,
      echo: Object.fromEntries(echoed.flatMap((name) => (raw[name] == null ? [] : [[name, given[name] ?? raw[name]]]))),
    },
  };
}

const ask = `Write down what is needed to go on with this conversation without it: the task and its rules, what was decided and why, what
was done and found (names, paths, values as they are), and what comes next. Answer with these notes alone.`;

const askForNotes: Message = { role: "user", parts: textParts([ask]) };
const noTools: ReturnType<typeof parseTools> = { tools: [], ignored: [], namespaced: {} };

/** The input without the items at its end by which a client asks for a compaction. */
function withoutTrigger(input: z.infer<typeof inputSchema>) {
  if (!Array.isArray(input)) return { items: input, isTriggered: false };
  const last = input.findLastIndex((item) => !isObject(item) || item["type"] !== "compaction_trigger");
  return { items: input.slice(0, last + 1), isTriggered: last + 1 < input.length };
}

/** The id of the response that a body continues, read before the rest of the body. */
export function previousIdOf(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || !("previous_response_id" in body)) return undefined;
  const id = body.previous_response_id;
  if (id === null || id === undefined) return undefined;
  if (typeof id !== "string") throw refuse("previous_response_id", "Invalid input: expected string");
  return id;
}
