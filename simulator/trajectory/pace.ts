import type { TurnPlan } from "../faults/turn-plan.ts";

/** How fast a turn goes, in plain numbers. */
export interface AnswerPace {
  /** Infinity: everything at once. */
  readonly charsPerSecond: number;
  readonly chunk: number;
  readonly inputMs: number;
  readonly firstMs: number;
}

/** The pace that a plan asks for. Without one: 400 characters a second, the first after 0.3 s. */
export function answerPace(plan: TurnPlan): AnswerPace {
  const instant = plan.rate === "instant";
  return {
    charsPerSecond: plan.rate === "instant" ? Infinity : (plan.rate ?? 400),
    chunk: plan.chunk ?? 12,
    inputMs: plan.inputMs ?? (instant ? 0 : 50),
    firstMs: plan.firstMs ?? (instant ? 0 : 250),
  };
}
