import { z } from "zod";

/** The forms in which servers report the rest of a plan. The last two are Antigravity's. */
export const planShapes = ["credits", "percent", "fractions", "pools"] as const;

/** The account's plan, and how much of it is used. */
export const planOptionsSchema = z.strictObject({
  /** Credits on Windsurf and fractions on Antigravity when absent. */
  shape: z.enum(planShapes).optional(),
  /** Percent of the plan that is used at the start; 100 is exhausted. */
  used: z.number().min(0).max(100).default(0),
  /** Percent of the longer window that is used (weekly percent, weekly pools); a quarter of `used` when absent. */
  usedWeekly: z.number().min(0).max(100).optional(),
  /** Credits: no limit, reported as a negative number. */
  unlimited: z.boolean().default(false),
  /** Credits: how many prompt credits there are, in hundredths. */
  creditsHundredths: z.number().int().min(0).default(50_000),
  /** Percent: the daily window is not for showing. */
  hideDaily: z.boolean().default(false),
  /** Percent: paid use beyond the quota, in millionths of a dollar; may be negative. */
  overageMicros: z.number().int().optional(),
  /** What the plan allows an account of Devin: Cascade and the CLI, or the CLI only. By default the former, and nothing on old builds. */
  allows: z.enum(["cascade", "cli"]).optional(),
  /** Percent of the short window that a credit's worth of use takes. */
  drain: z.number().min(0).max(100).default(1),
  /** A limit of messages to each model, beside the plan: how many in a window, and how long that window lasts. */
  messages: z.strictObject({ max: z.number().int().positive(), windowMs: z.number().positive() }).optional(),
  /** The server says nothing about the plan. */
  unknown: z.boolean().default(false),
});

/** The caller's options. */
export type PlanInput = z.input<typeof planOptionsSchema>;
export type PlanOptions = z.output<typeof planOptionsSchema>;

/** A turn that the user ran in the IDE itself. */
export const ownTurnSchema = z.strictObject({
  /** The model by its label, which selects a pool of Antigravity; Windsurf has one plan. */
  model: z.string().default("Gemini 3.1 Pro (High)"),
  /** The cost; in windows of percent or fractions, `drain` percent of the short one for each. */
  credits: z.number().min(0).default(1),
});

/** The caller's options. */
export type OwnTurnInput = z.input<typeof ownTurnSchema>;
export type OwnTurn = z.output<typeof ownTurnSchema>;
