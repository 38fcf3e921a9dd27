import type { AnswerPlan } from "./answer-plan.ts";
import { checkArguments } from "./arguments/check-arguments.ts";
import type { CallAttempt } from "./forms/call-shapes.ts";
import type { ShownTool } from "./names.ts";
import type { Told } from "./told.ts";

/** The history of a call, for the counts per model. */
export type CallRepair = "first_try" | "repaired" | "reasked" | "failed";

/** A call that could not be accepted as it was written. */
export interface CallProblem {
  readonly asked: string;
  readonly tool: ShownTool | undefined;
  readonly message: string;
  /** It only misses finer rules: it is passed on if no correction comes. */
  readonly held?: HeldCall;
}

interface HeldCall {
  readonly tool: ShownTool;
  readonly text: string;
  readonly value: unknown;
}

/**
 * Checks the calls of one answer; each becomes one whole event, or a problem to ask again about. None is dropped, except those past
 * the first where the client allows one call only, and those that a second answer repeats. A call that only misses finer rules of its
 * schema is held back while readers have nothing, and passed on after that.
 */
export class Calls {
  problems: CallProblem[] = [];
  #held = 0;
  readonly outcomes: CallRepair[] = [];
  accepted = 0;
  readonly #plan: AnswerPlan;
  readonly #told: Told;
  readonly #mayHold: boolean;
  readonly #isSecond: boolean;
  /** Calls of the answer before that were held back and not corrected yet. */
  #uncorrected: readonly HeldCall[];

  /** `mayHold`: a call that only misses finer rules may be asked for again. `before`: the calls of the answer before. */
  constructor(plan: AnswerPlan, told: Told, mayHold: boolean, before?: Calls) {
    this.#plan = plan;
    this.#told = told;
    this.#mayHold = mayHold;
    this.#isSecond = before !== undefined;
    this.#uncorrected = before?.problems.flatMap(({ held }) => held ?? []) ?? [];
  }

  /** Passes on the calls of this answer that are held back: something else of the answer is about to be shown. */
  release(): void {
    if (this.#held === 0) return;
    const held = this.problems.flatMap((problem) => problem.held ?? []);
    this.#held = 0;
    this.problems = this.problems.filter((problem) => problem.held === undefined);
    this.#passOn(held);
  }

  /** Passes on the calls of the answer before that were held back, and that this answer did not correct. */
  passOnUncorrected(): void {
    this.#passOn(this.#uncorrected);
    this.#uncorrected = [];
  }

  #passOn(held: readonly HeldCall[]): void {
    for (const call of held) {
      this.outcomes.push("first_try");
      this.#send(call, true);
    }
  }

  /** A call that was read, in any form. */
  attempt(call: CallAttempt): void {
    const { parallel } = this.#plan;
    if (!parallel && this.accepted + this.problems.length > 0) return;
    const { asked, tool, raw: text = "", arguments: value } = call;
    const message = this.#refusal(call);
    if (call.isCut === true) {
      if (tool !== undefined) this.#send({ tool, text, value }, false); // what is there goes out, never marked done
    } else if (tool === undefined || message !== undefined) this.#fail({ asked, tool, message: message ?? "" });
    else this.#check(call, tool);
  }

  /** Why a call is not even checked. */
  #refusal({ asked, tool, problem }: CallAttempt): string | undefined {
    const { names, choice } = this.#plan;
    if (problem !== undefined) return problem;
    if (tool === undefined)
      return `There is no tool named ${asked}. The tools are: ${names.tools.map(({ shownName }) => shownName).join(", ")}.`;
    const isWrong = choice.type === "named" && choice.name !== tool.tool.name;
    return isWrong ? `Only ${names.shown(choice.name)} may be called in this answer.` : undefined;
  }

  #fail(problem: CallProblem): void {
    this.problems.push(problem);
    if (problem.held !== undefined) this.#held++;
  }

  #check({ asked, arguments: value, raw, isRepaired = false }: CallAttempt, tool: ShownTool): void {
    const checked = checkArguments(tool, value, raw);
    if (!checked.ok) return this.#fail({ asked, tool, message: checked.message });
    const call = { tool, text: checked.text, value };
    if (checked.misses !== undefined && this.#mayHold && !this.#told.isSpoken)
      return this.#fail({ asked, tool, message: checked.misses, held: call });
    if (this.#told.hadCall(tool.tool.name, value)) return; // the second prompt asked the model not to repeat it
    const corrected = this.#uncorrected.find((held) => held.tool === tool);
    this.#uncorrected = this.#uncorrected.filter((held) => held !== corrected);
    this.outcomes.push(this.#isSecond ? "reasked" : checked.changed || isRepaired ? "repaired" : "first_try");
    this.#send(call, true);
  }

  #send({ tool, text, value }: HeldCall, done: boolean): void {
    this.release();
    this.accepted++;
    this.#told.call({ name: tool.tool.name, argumentsDelta: text, done, value });
  }
}
