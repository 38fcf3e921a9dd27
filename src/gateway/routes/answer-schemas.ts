import { z } from "zod";
import { listedMembers } from "../../usage/turn-page-envelope.ts";
import { instant, maybe } from "../dashboard/inventory.ts";

/*
 * The JSON that routes answer, as they declare it. Members that every answer has are listed. The dialects' answers have more members,
 * which their vendors define. Source: docs/dev/wire/clients.md.
 */

const openAiUsage = z.looseObject({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
});

export const chatCompletionSchema = z.looseObject({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.looseObject({
      index: z.int(),
      message: z.looseObject({ role: z.literal("assistant"), content: maybe(z.string()) }),
      finish_reason: z.string(),
    }),
  ),
  usage: openAiUsage,
});

export const textCompletionSchema = z.looseObject({
  id: z.string(),
  object: z.literal("text_completion"),
  created: z.int(),
  model: z.string(),
  choices: z.array(z.looseObject({ index: z.int(), text: z.string(), finish_reason: z.string() })),
  usage: openAiUsage,
});

export const responseSchema = z.looseObject({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.int(),
  status: z.enum(["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]),
  model: z.string(),
  output: z.array(z.looseObject({ id: z.string(), type: z.string() })),
  previous_response_id: maybe(z.string()),
  usage: maybe(z.looseObject({ input_tokens: z.int(), output_tokens: z.int(), total_tokens: z.int() })),
});

export const compactionSchema = z.looseObject({
  id: z.string(),
  object: z.literal("response.compaction"),
  created_at: z.int(),
  output: z.array(z.looseObject({ type: z.string() })),
});

export const inputItemsSchema = z.looseObject({
  object: z.literal("list"),
  data: z.array(z.looseObject({ type: z.string() })),
  has_more: z.boolean(),
});

export const messageSchema = z.looseObject({
  id: z.string(),
  type: z.literal("message"),
  role: z.literal("assistant"),
  model: z.string(),
  content: z.array(z.looseObject({ type: z.string() })),
  stop_reason: maybe(z.string()),
  usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int() }),
});

const openAiModel = z.looseObject({
  id: z.string(),
  object: z.literal("model"),
  created: z.int(),
  owned_by: z.string(),
});

const anthropicModel = z.looseObject({
  id: z.string(),
  type: z.literal("model"),
  display_name: z.string(),
  created_at: instant,
});

export const modelAnswerSchema = z.union([openAiModel, anthropicModel]);

export const modelListSchema = z.union([
  z.object({ object: z.literal("list"), data: z.array(openAiModel) }),
  z.object({
    data: z.array(anthropicModel),
    has_more: z.boolean(),
    first_id: maybe(z.string()),
    last_id: maybe(z.string()),
  }),
]);

const turnMembers = {
  object: z.literal("turn"),
  ...listedMembers,
  status: z.enum(["running", "finished", "failed", "cancelled"]),
  dialect: z.string(),
  delivered: z.boolean(),
  degraded: z.boolean(),
  expires_at: instant,
  last_event_id: z.string(),
  /** Null: to its end. Absent for a sealed turn. */
  grace_ms: maybe(z.number()).optional(),
  model: z.string(),
  model_uid: z.string(),
  sealed: z.literal(true).optional(),
  session: maybe(z.string()),
  idempotency_key: maybe(z.string()),
  /** The first line of the user's question, where it was asked for. */
  question: maybe(z.string()).optional(),
};

export const turnListSchema = z.object({
  object: z.literal("list"),
  data: z.array(z.object(turnMembers)),
  server_now: instant,
});

/** Turns that contain a text, and how many could be searched. */
export const foundTurnsSchema = z.object({
  object: z.literal("list"),
  /** `excerpt`: the line around the first hit. */
  data: z.array(z.object({ ...turnMembers, excerpt: z.string() })),
  searched: z.int(),
  sealed: z.int(),
});

/** One turn; `queue` while it waits for its place. */
export const turnSchema = z.object({
  ...turnMembers,
  queue: z.object({ position: z.int(), of: z.int() }).optional(),
  server_now: instant,
});

export const askedAgainSchema = z.object({ object: z.literal("turn"), id: z.string(), again_of: z.string() });

export const idesSchema = z.object({
  object: z.literal("ides"),
  looked_at: instant,
  data: z.array(
    z.object({
      variant: z.string(),
      product: z.string(),
      stand_in: z.boolean(),
      build: z.string(),
      pid: maybe(z.int()),
      state: z.enum(["ready", "not signed in", "metered only", "not answering"]),
    }),
  ),
  findings: z.array(z.looseObject({ level: z.string() })),
  rejected: z.array(z.object({ subject: z.string(), why: z.string() })),
});

export const consentsSchema = z.object({
  object: z.literal("list"),
  data: z.array(z.object({ ide: z.string(), product: z.string(), text: z.string(), accepted_at: maybe(instant) })),
});

export const openApiSchema = z.looseObject({ openapi: z.literal("3.1.0"), paths: z.record(z.string(), z.unknown()) });
