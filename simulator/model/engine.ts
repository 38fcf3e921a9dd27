import { orAborted } from "../../src/base/async.ts";
import type { Clock } from "../../src/base/clock.ts";
import { type ErrorName, errorTexts } from "../faults/error-texts.ts";
import type { TurnPlan } from "../faults/turn-plan.ts";
import { Growth, type GrowthMark } from "./growth.ts";
import { modelAnswer } from "./helper.ts";
import { countTokens, type ModelPrompt } from "./model.ts";

/** Why a turn ends early: an error of the table, or a text that no table holds, such as a model's own. */
export type TurnReason = ErrorName | { readonly text: string };

/** Stops a turn with an error that the user sees. */
export class TurnFailure extends Error {
  readonly reason: TurnReason;
  constructor(reason: TurnReason) {
    super(typeof reason === "string" ? errorTexts(reason).text : reason.text);
    this.reason = reason;
  }
}

/** The tokens of a call to a model, counted. */
export function countedUsage({ text, instructions, history }: ModelPrompt, said: readonly string[]) {
  const sum = (texts: readonly string[]) => texts.reduce((total, one) => total + countTokens(one), 0);
  return {
    inputTokens: sum([text, instructions, ...history.map((message) => message.text)]),
    outputTokens: sum(said),
  };
}

/** Where a turn is played: a conversation of Cascade or of an agent, with the means to change it. */
export interface Stage {
  readonly clock: Clock;
  /** Resolves when answers that hold go on. */
  readonly released: Promise<void>;
  /** One of the IDE's own tools runs. */
  tool(): Promise<void>;
  /** Asks the user for a decision, which never comes. */
  ask(): void;
  think(piece: string): void;
  /** The part of the model's text that is shown. */
  shown(text: string): string;
  say(piece: string): void;
  compact(): void;
  /** This process ends in the middle of the answer. */
  restart(): Promise<void>;
  /** Further events on the way. */
  marks(plan: TurnPlan): readonly GrowthMark[];
}

/** The pace that a plan asks for. Without one: 400 characters a second, the first after 0.3 s. */
export function answerPace(plan: TurnPlan) {
  const instant = plan.rate === "instant";
  return {
    charsPerSecond: plan.rate === "instant" ? Infinity : (plan.rate ?? 400),
    chunk: plan.chunk ?? 12,
    inputMs: plan.inputMs ?? (instant ? 0 : 50),
    firstMs: plan.firstMs ?? (instant ? 0 : 250),
  };
}

/** A step of a tool takes as long as a piece of text. */
export async function toolStep(plan: TurnPlan, clock: Clock, signal: AbortSignal): Promise<void> {
  const { charsPerSecond, chunk } = answerPace(plan);
  signal.throwIfAborted();
  if (charsPerSecond !== Infinity) await clock.sleep((chunk / charsPerSecond) * 1000, signal);
}

/** Never resolves; rejects when the turn is cancelled. */
export async function forever(clock: Clock, signal: AbortSignal): Promise<never> {
  for (;;) await clock.sleep(60_000, signal);
}

/** The part of a turn that comes before the model's answer. False: the answer is left out. */
export async function playTools({ plan }: ModelPrompt, stage: Stage, signal: AbortSignal): Promise<boolean> {
  for (let i = 0; i < (plan.tools ?? (plan.toolOnly === true ? 1 : 0)); i++) await stage.tool();
  if (plan.waiting === true) {
    stage.ask();
    await forever(stage.clock, signal);
  }
  return plan.toolOnly !== true;
}

/**
 * Plays one answer of the model: its pace, its pauses and its faults, as the plan says.
 *
 * @throws TurnFailure for an error of the plan; the signal's reason when the turn was cancelled.
 */
export async function playAnswer(prompt: ModelPrompt, stage: Stage, signal: AbortSignal): Promise<void> {
  const { plan } = prompt;
  const { clock } = stage;
  const pace = { ...answerPace(plan), clock };
  const growth = new Growth({ ...pace, marks: [...stage.marks(plan), ...marksOf(plan, stage, signal)] });
  for (const delta of modelAnswer(prompt)) {
    signal.throwIfAborted();
    if (delta.kind === "thinking") {
      await new Growth({ ...pace, marks: [] }).grow(delta.text, (piece) => stage.think(piece), signal);
      if (plan.thinkMs !== undefined) await clock.sleep(plan.thinkMs, signal);
    } else {
      await growth.grow(stage.shown(delta.text), (piece) => stage.say(piece), signal);
    }
  }
  await growth.finish();
}

/** The events on the way, by the length of the answer. */
function marksOf(plan: TurnPlan, stage: Stage, signal: AbortSignal): GrowthMark[] {
  const { stallMs, error } = plan;
  const fail = () => {
    if (error !== undefined && plan.errorAt !== "send") throw new TurnFailure(error);
  };
  const marks: readonly (readonly [at: number | undefined, act: GrowthMark["act"]])[] = [
    [plan.checkpointAfter, () => stage.compact()],
    [stallMs === undefined ? undefined : (plan.stallAfter ?? 0), () => stage.clock.sleep(stallMs ?? 0, signal)],
    [plan.holdAfter, () => orAborted(stage.released, signal)],
    [plan.restartAfter, () => stage.restart()],
    [error === undefined ? undefined : (plan.errorAfter ?? 0), fail],
  ];
  return marks.flatMap(([at, act]) => (at === undefined ? [] : [{ at, act }]));
}
