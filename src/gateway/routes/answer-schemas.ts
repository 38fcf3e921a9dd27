import { z } from "zod";
import { listedMembers } from "../../usage/turn-page-envelope.ts";
import { instant, maybe } from "../dashboard/inventory.ts";

/*
 * The JSON of our own that routes answer, as they declare it. Members that every answer has are listed.
 */

/** The answer of a vendor's API: its vendor says which members it has. */
export const vendorAnswer = z.looseObject({});

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
