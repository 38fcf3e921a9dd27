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
  /** Its arguments can be read and do not fit: it is passed on as it is if the second answer has nothing better. */
  readonly wrong?: WrongCall;
}

interface WrongCall {
  /** It only misses finer rules. */
  readonly isFine: boolean;
  readonly tool: ShownTool;
  readonly text: string;
  readonly value: unknown;
}

/**
 * Checks the calls of one answer; each becomes one whole event, or a problem to ask again about. None is dropped, except those past
 * the first where the client allows one call only, and those that a second answer repeats. A call that only misses finer rules of its
 * schema is a problem while readers have nothing, and passed on after that.
 */
export class Calls {
  problems: CallProblem[] = [];
  accepted = 0;
  readonly #plan: AnswerPlan;
  readonly #told: Told;
  readonly #mayAsk: boolean;
  readonly #before: Calls | undefined;

  /** `mayAsk`: a call may be asked for again. `before`: the calls of the answer before. */
  constructor(plan: AnswerPlan, told: Told, mayAsk: boolean, before?: Calls) {
    this.#plan = plan;
    this.#told = told;
    this.#mayAsk = mayAsk;
    this.#before = before;
  }

  /**
   * Passes on wrong calls as the model wrote them, because it is not asked again: its client tells it what is wrong, as with the
   * vendors' APIs. Those of this answer, or else those of the answer before. Nothing where readers have a call. `hasFailed`: this answer
   * failed; then only calls that miss finer rules are passed on.
   */
  passOnWrong(hasFailed = false): void {
    if (this.#told.calls.length > 0) return;
    const wrongOf = (problems: readonly CallProblem[]) =>
      problems.flatMap(({ wrong }) => (wrong === undefined || (hasFailed && !wrong.isFine) ? [] : [wrong]));
    const own = wrongOf(this.problems);
    const calls = own.length > 0 ? own : wrongOf(this.#before?.problems ?? []);
    if (calls.length === 0) return;
    this.problems = [];
    for (const call of calls.slice(0, this.#plan.parallel ? undefined : 1)) this.#send(call, true);
  }

  /** A call that was read, in any form. */
  attempt(call: CallAttempt): void {
    const { parallel } = this.#plan;
    if (!parallel && this.accepted + this.problems.length > 0) return;
    const { asked, tool, raw: text = "", arguments: value } = call;
    const message = this.#refusal(call);
    if (call.isCut === true) {
      if (tool !== undefined) this.#send({ tool, text, value }, false); // what is there goes out, never marked done
    } else if (tool === undefined || message !== undefined) this.problems.push({ asked, tool, message: message ?? "" });
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

  #check({ asked, arguments: value, raw }: CallAttempt, tool: ShownTool): void {
    const checked = checkArguments(tool, value, raw);
    const text = checked.ok ? checked.text : asWritten(tool, value, raw);
    const message = checked.ok ? checked.misses : checked.message;
    if (message !== undefined && !(checked.ok && (this.#told.isSpoken || !this.#mayAsk))) {
      const wrong = text === undefined ? {} : { wrong: { tool, text, value, isFine: checked.ok } };
      this.problems.push({ asked, tool, message, ...wrong });
    } else if (text !== undefined && !this.#told.hadCall(tool.tool.name, value))
      // the second prompt asked the model not to repeat it
      this.#send({ tool, text, value }, true);
  }

  #send({ tool, text, value }: Omit<WrongCall, "isFine">, done: boolean): void {
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
