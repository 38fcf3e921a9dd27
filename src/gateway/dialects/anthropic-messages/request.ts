import { z } from "zod";
import type { MillraceError } from "../../../base/errors.ts";
import { isObject } from "../../../base/json.ts";
import type { Tool, TurnRequest } from "../../../log/request.ts";
import { content, parseSystem } from "../content.ts";
import type { ParsedTurn } from "../dialect.ts";
import { History } from "../history.ts";
import { messagesSchema, readMessages } from "../messages/any-message.ts";
import { readDirectives } from "../messages/directives.ts";
import {
  effortIn,
  effortNamed,
  nameAModel,
  noteOfHosted,
  outputLimit,
  parseBody,
  refuse,
  stopSequences,
} from "../parse-body.ts";
import { formatIn, formatMembers } from "../response-format.ts";
import { parseToolChoice, toolChoiceSchema } from "../tool-choice.ts";
import { parseTools, toolsSchema } from "./tools.ts";

/** The members of a body that are looked at, and their types. */
export const messagesBody = z.object({
  model: z.string().min(1, nameAModel()),
  messages: messagesSchema,
  system: content.nullish(),
  max_tokens: z.number().int().nonnegative().nullish(),
  stream: z.boolean().nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  tools: toolsSchema,
  tool_choice: toolChoiceSchema,
  thinking: z.looseObject({ type: z.string(), budget_tokens: z.number().nullish() }).nullish(),
  ...formatMembers,
  mcp_servers: z.array(z.unknown()).nullish(),
  thread: z.unknown().optional(),
});

/**
 * A Messages request. Beta headers, `cache_control`, `context_management`, `metadata` and unknown members are not read.
 *
 * @throws MillraceError `invalid_request` with the path of the field. Source: docs/dev/wire/clients.md, "Messages".
 */
export function parseMessagesRequest(body: unknown): ParsedTurn & {
  readonly wire: { readonly model: string };
} {
  const parsed = parseBody(messagesBody, body);
  if (parsed.thread !== undefined && parsed.thread !== null) throw threadRefused();
  const choice = parsed.tool_choice;
  const directives = readDirectives(parsed.messages);
  const offered = parseTools(parsed.tools, choice);
  const ignoredTools = [...offered.ignored, ...(parsed.mcp_servers?.length ? ["mcp_servers"] : [])];
  const own = toolsNow(offered.tools, directives);
  const { choice: toolChoice, tools } = parseToolChoice(
    own.length === 0 || offered.demandsIgnored ? null : choice,
    own,
  );
  const effort = directives.effort === undefined ? effortIn(body) : effortNamed(directives.effort);
  const history = new History();
  const request: TurnRequest = {
    model: modelName(parsed.model),
    messages: [
      ...parseSystem(parsed.system, "system", history),
      ...noteOfHosted(ignoredTools, tools.length === 0 || offered.demandsIgnored),
      ...readMessages(parsed.messages, history),
    ],
    tools,
    toolChoice,
    parallelToolCalls: !isObject(choice) || choice["disable_parallel_tool_use"] !== true,
    responseFormat: formatIn(parsed, true),
    stop: stopSequences(parsed.stop_sequences, "stop_sequences"),
    ...outputLimit(parsed.max_tokens),
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
  };
  return {
    request,
    stream: parsed.stream ?? false,
    wire: { model: parsed.model },
    ignoredTools,
    leftOut: history.leftOut,
  };
}

/**
 * A thread is a history that the vendor's server holds. A request that goes on in one brings only the new messages, so it must not
 * be answered as if it were whole. The SDK's tool runner sends the whole history from then on where it reads this code.
 * Source: docs/dev/wire/clients.md, "Messages".
 */
function threadRefused(): MillraceError {
  return refuse("thread", "This gateway keeps no threads", "Send the whole history in `messages`, without `thread`.", {
    error_code: "thread_unsupported_request",
    unsupported: ["thread"],
  });
}

const inlineTool = z.object({
  name: z.string().min(1),
  description: z.string().nullish(),
  input_schema: z.record(z.string(), z.unknown()),
});

/** The tools that can be called now: those of the request, and those that the conversation defined, without those that it took out. */
function toolsNow(offered: readonly Tool[], { tools, defined }: ReturnType<typeof readDirectives>): readonly Tool[] {
  const inline = defined.flatMap((definition) => {
    const { name, input_schema: parameters, description } = inlineTool.safeParse(definition).data ?? {};
    return name && parameters ? [{ name, description: description ?? "", kind: "function" as const, parameters }] : [];
  });
  const newest = new Map([...offered, ...inline].map((tool) => [tool.name, tool]));
  return [...newest.values()].filter(({ name }) => tools.get(name) !== false);
}

/** The ids of `GET /v1/models` in this API may carry a prefix that the models themselves do not. */
function modelName(id: string): string {
  return id.startsWith("anthropic/") ? id.slice("anthropic/".length) : id;
}

const probe = z.object({
  model: z.string(),
  max_tokens: z.literal(1),
  messages: z.tuple([z.object({ role: z.literal("user"), content: z.literal("quota") })]),
  stream: z.literal(false).optional(),
});

/**
 * The answer to the message by which Claude Code sees whether its account answers. It is made here, because a model would cost
 * the user a prompt at each poll. Undefined for every other body. Source: docs/dev/wire/clients.md, "Messages".
 */
export function answerQuotaProbe(body: unknown, requestId: string): unknown {
  const parsed = probe.safeParse(body);
  if (!parsed.success) return undefined;
  return {
    id: `msg_${requestId.replaceAll(/[^\w]/g, "")}`,
    type: "message",
    role: "assistant",
    model: parsed.data.model,
    content: [{ type: "text", text: "ok" }],
    stop_reason: "max_tokens",
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  };
}
