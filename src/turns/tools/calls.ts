import { isObject, writeJson } from "../../base/json.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import { checkArguments } from "./arguments/check-arguments.ts";
import { parsedJson } from "./arguments/json.ts";
import type { CallAttempt } from "./forms/call-shapes.ts";
import type { ShownTool } from "./names.ts";
import type { Told } from "./told.ts";

/** A call that could not be accepted as it was written. */
export interface CallProblem {
  readonly asked: string;
  readonly tool: ShownTool | undefined;
  readonly message: string;
  /** It only misses finer rules: it is passed on if no correction comes. */
  readonly held?: HeldCall;
  /** Its arguments can be read and do not fit: it is passed on as it is if the second answer has nothing better. */
  readonly wrong?: HeldCall;
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
  accepted = 0;
  readonly #plan: AnswerPlan;
  readonly #told: Told;
  readonly #mayHold: boolean;
  /** Calls of the answer before that were held back and not corrected yet. */
  #uncorrected: readonly HeldCall[];
  readonly #before: Calls | undefined;

  /** `mayHold`: a call that only misses finer rules may be asked for again. `before`: the calls of the answer before. */
  constructor(plan: AnswerPlan, told: Told, mayHold: boolean, before?: Calls) {
    this.#plan = plan;
    this.#told = told;
    this.#mayHold = mayHold;
    this.#before = before;
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
  releaseEarlier(): void {
    this.#passOn(this.#uncorrected);
    this.#uncorrected = [];
  }

  /**
   * Passes on wrong calls as the model wrote them, because it is not asked again: its client tells it what is wrong, as with the
   * vendors' APIs. Those of this answer, or else those of the answer before. Nothing where readers have a call.
   */
  passOnWrong(): void {
    if (this.#told.calls.length > 0) return;
    const own = this.problems.flatMap(({ wrong }) => wrong ?? []);
    const calls = own.length > 0 ? own : (this.#before?.problems.flatMap(({ wrong }) => wrong ?? []) ?? []);
    if (calls.length === 0) return;
    this.problems = [];
    for (const call of calls.slice(0, this.#plan.parallel ? undefined : 1)) this.#send(call, true);
  }

  #passOn(held: readonly HeldCall[]): void {
    for (const call of held) this.#send(call, true);
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

  #check({ asked, arguments: value, raw }: CallAttempt, tool: ShownTool): void {
    const checked = checkArguments(tool, value, raw);
    if (!checked.ok) {
      const text = asWritten(tool, value, raw);
      const wrong = text === undefined ? {} : { wrong: { tool, text, value } };
      return this.#fail({ asked, tool, message: checked.message, ...wrong });
    }
    const call = { tool, text: checked.text, value };
    if (checked.misses !== undefined && this.#mayHold && !this.#told.isSpoken)
      return this.#fail({ asked, tool, message: checked.misses, held: call });
    if (this.#told.hadCall(tool.tool.name, value)) return; // the second prompt asked the model not to repeat it
    const corrected = this.#uncorrected.find((held) => held.tool === tool);
    this.#uncorrected = this.#uncorrected.filter((held) => held !== corrected);
    this.#send(call, true);
  }

  #send({ tool, text, value }: HeldCall, done: boolean): void {
    this.release();
    this.accepted++;
    this.#told.call({ name: tool.tool.name, argumentsDelta: text, done, value });
  }
}

/** Arguments that do not fit, as a client can read them; undefined if they are no object, which no client expects. */
function asWritten({ tool, wrappedIn }: ShownTool, value: unknown, raw: string | undefined): string | undefined {
  if (!isObject(value)) return undefined;
  if (wrappedIn !== undefined && Object.hasOwn(value, wrappedIn)) return writeJson(value[wrappedIn]);
  return raw !== undefined && (tool.kind === "freeform" || parsedJson(raw) !== undefined) ? raw : writeJson(value);
}
