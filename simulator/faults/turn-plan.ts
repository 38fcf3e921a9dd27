import { z } from "zod";
import { errorNames } from "./error-texts.ts";

const ms = z.number().min(0).max(86_400_000);
const chars = z.number().int().min(0).max(50_000_000);

/**
 * The plan of one turn: its pace and its faults. The same keys work in a config file (camelCase), and in a
 * prompt as a directive (kebab-case): `[[sim: error=rate_limit error-after=20]]`.
 */
export const turnPlanSchema = z.strictObject({
  /** Characters a second, or everything at once. */
  rate: z.union([z.number().positive(), z.literal("instant")]).optional(),
  /** Characters that appear together. */
  chunk: z.number().int().positive().optional(),
  /** Time from the accepted message to its USER_INPUT step and the status RUNNING. */
  inputMs: ms.optional(),
  /** Time from the USER_INPUT step to the planner's step. */
  firstMs: ms.optional(),
  /** Silence after the thinking has begun, with a steady step count. */
  thinkMs: ms.optional(),
  /** Show this many characters of thinking; 0 for none. */
  thinking: chars.optional(),
  /** The exact answer. */
  text: z.string().optional(),
  /** The same in base64: for a text that must not stand in the prompt. `-MARK` becomes the mark of the prompt's tags. */
  hiddenText: z.string().optional(),
  /** An answer of exactly this many characters. */
  size: chars.optional(),
  /** An answer of no characters. */
  empty: z.boolean().optional(),
  /** End with this error. */
  error: z.enum(errorNames).optional(),
  /** Where the error shows: in the call that sends, as an error step, or as the error field of the planner's step. */
  errorAt: z.enum(["send", "step", "field"]).optional(),
  /** Characters of the answer before the error. */
  errorAfter: chars.optional(),
  /** The header under which a transcript shows the text of an error step; it shows no text by default. */
  errorText: z.enum(["tool", "system"]).optional(),
  /** Stop growing for this long. */
  stallMs: ms.optional(),
  stallAfter: chars.optional(),
  /** At this many characters, stop growing until `release`. */
  holdAfter: chars.optional(),
  /** At this many characters, replace the text so far by another one in place. */
  rewriteAfter: chars.optional(),
  /** Put a rewritten text into `modified_response` when the step is done. */
  modified: z.boolean().optional(),
  /** Polls that see the status IDLE after the turn is RUNNING. */
  flicker: z.number().int().min(0).optional(),
  /** Whether a CHECKPOINT step ends the turn. */
  checkpoint: z.boolean().optional(),
  /** At this many characters, a CHECKPOINT in the middle of the turn; the answer continues in a second planner step. */
  checkpointAfter: chars.optional(),
  /** At this many characters, a MEMORY step inserted before the user's, which moves all later indices. */
  insertAfter: chars.optional(),
  /** The transcript lists its messages out of order. */
  shuffle: z.boolean().optional(),
  /** The transcript's message numbers skip some. */
  jump: z.boolean().optional(),
  /** The IDE's own tools run: this many tool steps before the answer. */
  tools: z.number().int().min(0).max(50).optional(),
  /** The planner's text in each step that calls one of the IDE's own tools. */
  toolText: z.string().optional(),
  /** Only tool steps. */
  toolOnly: z.boolean().optional(),
  /** A tool step that waits for a decision which never comes. */
  waiting: z.boolean().optional(),
  /** Put a line that looks like a transcript header into the answer. */
  forge: z.boolean().optional(),
  /** At this many characters, the process restarts with a new port and token. */
  restartAfter: chars.optional(),
  /** Which agent the model plays when it is offered tools: `loop`, `once`, `refuse`, or how it spoils a call. */
  agent: z.string().min(1).optional(),
  /** How the model spoils an answer that has to be JSON, the first time it is asked. */
  json: z.enum(["fenced", "prose", "truncated", "wrong-type"]).optional(),
  /** Over ACP: so many attempts to write a file, each with a permission request where the mode allows writing at all. */
  writes: z.number().int().min(0).max(50).optional(),
  /** Over ACP: a notice of the program itself, about a compaction, in the middle of the answer's messages. */
  compaction: z.boolean().optional(),
  /** Over ACP: the agent tells that it tries its connection again, and a notice about the plan. */
  notices: z.boolean().optional(),
  /** Over ACP: the agent asks its client for diagnostics before it answers, and waits for the reply. */
  diagnostics: z.boolean().optional(),
  /** Over ACP: the stop reason of a turn that ends well. */
  stopReason: z.enum(["end_turn", "max_tokens", "max_turn_requests", "refusal"]).optional(),
  /** Over ACP: the agent's process dies at this point. */
  crashAt: z.enum(["before-store", "after-store", "mid-answer", "before-reply", "after-reply"]).optional(),
  /** Over ACP: the prompt is stored, and then nothing happens for ever. */
  hang: z.boolean().optional(),
});

/** Every key may be absent; see `turnPlanSchema`. */
export type TurnPlan = z.infer<typeof turnPlanSchema>;

/** Later plans win, key by key. */
export function mergePlans(...plans: readonly TurnPlan[]): TurnPlan {
  return Object.assign({}, ...plans) as TurnPlan; // a merge of plans has only their keys
}
