import type { TurnEventBody } from "../../log/event.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import { checkArguments } from "./arguments/check-arguments.ts";
import type { CallAttempt } from "./forms/call-shapes.ts";
import type { ShownTool } from "./names.ts";

/** The history of a call, for the counts per model. */
export type CallRepair = "first_try" | "repaired" | "reasked" | "failed";

/** A call that could not be accepted as it was written. */
export interface CallProblem {
  readonly asked: string;
  readonly tool: ShownTool | undefined;
  readonly message: string;
  /** The whole arguments, where they only miss finer rules: they are passed on if no correction comes. */
  readonly asWritten?: string;
}

/**
 * Checks the calls of one answer; each becomes one whole event, or a problem to ask again about. None is dropped, except those past
 * the first where the client allows one call only, and those that a second answer repeats. A call that only misses finer rules of its
 * schema is held back while nothing else was shown (`mayHold`), and passed on after that.
 */
export class Calls {
  readonly problems: CallProblem[] = [];
  readonly outcomes: CallRepair[] = [];
  readonly #plan: AnswerPlan;
  readonly #mayHold: () => boolean;
  readonly #emit: (event: TurnEventBody) => void;
  readonly #isSecond: boolean;
  /** Calls of the answer before that were held back and not corrected yet. */
  #uncorrected: readonly CallProblem[];
  /** Calls that readers have, by tool and arguments: a second answer that repeats one means the same call. */
  readonly #given: Set<string>;
  #accepted = 0;
  #numbered: number;

  constructor(plan: AnswerPlan, mayHold: () => boolean, emit: (event: TurnEventBody) => void, before?: Calls) {
    this.#plan = plan;
    this.#mayHold = mayHold;
    this.#emit = emit;
    this.#isSecond = before !== undefined;
    this.#uncorrected = before === undefined ? [] : before.#held;
    this.#given = new Set(before === undefined ? [] : before.#given);
    this.#numbered = before === undefined ? 0 : before.#numbered;
  }

  get accepted(): number {
    return this.#accepted;
  }

  get #held(): readonly CallProblem[] {
    return this.problems.filter(({ asWritten }) => asWritten !== undefined);
  }

  /** Passes on the calls of this answer that are held back: something else of the answer is about to be shown. */
  release(): void {
    const held = this.#held;
    if (held.length === 0) return;
    this.problems.splice(0, this.problems.length, ...this.problems.filter(({ asWritten }) => asWritten === undefined));
    for (const problem of held) this.#passOn(problem);
  }

  /** Passes on the calls of the answer before that were held back, and that this answer did not correct. */
  passOnUncorrected(): void {
    const left = this.#uncorrected;
    this.#uncorrected = [];
    for (const problem of left) this.#passOn(problem);
  }

  #passOn({ tool, asWritten }: CallProblem): void {
    if (tool === undefined || asWritten === undefined) return;
    this.outcomes.push("first_try");
    this.#send(tool, asWritten, true);
  }

  /** A call that was read whole, in any form. */
  attempt(call: CallAttempt): void {
    const { parallel, names, choice } = this.#plan;
    if (!parallel && this.#accepted + this.problems.length > 0) return;
    const { asked, tool, raw = "" } = call;
    if (call.isCut === true) {
      if (tool !== undefined) this.#send(tool, raw, false); // what is there goes out, never marked done
      return;
    }
    const fail = (message: string) => void this.problems.push({ asked, tool, message });
    if (call.problem !== undefined) fail(call.problem);
    else if (tool === undefined)
      fail(
        `There is no tool named ${asked}. The tools are: ${names.tools.map(({ shownName }) => shownName).join(", ")}.`,
      );
    else if (choice.type === "named" && choice.name !== tool.tool.name)
      fail(`Only ${names.shown(choice.name)} may be called in this answer.`);
    else this.#judge(call, tool, fail);
  }

  #judge(call: CallAttempt, tool: ShownTool, fail: (message: string) => void): void {
    const checked = checkArguments(tool, { value: call.arguments, raw: call.raw });
    if (!checked.ok) return fail(checked.message);
    if (checked.misses !== undefined && this.#mayHold()) {
      this.problems.push({ asked: call.asked, tool, message: checked.misses, asWritten: checked.text });
      return;
    }
    const given = JSON.stringify([tool.tool.name, call.arguments]);
    if (this.#isSecond && this.#given.has(given)) return; // the second prompt asked the model not to repeat it
    if (!this.#isSecond) this.#given.add(given);
    const corrected = this.#uncorrected.find((problem) => problem.tool === tool);
    this.#uncorrected = this.#uncorrected.filter((problem) => problem !== corrected);
    const isRepaired = checked.changed || call.isRepaired === true;
    this.outcomes.push(this.#isSecond ? "reasked" : isRepaired ? "repaired" : "first_try");
    this.#send(tool, checked.text, true);
  }

  #send(tool: ShownTool, argumentsDelta: string, done: boolean): void {
    this.release();
    this.#accepted++;
    this.#numbered++;
    const callId = `call_${this.#plan.seed}_${this.#numbered}`;
    this.#emit({ type: "tool_call", callId, name: tool.tool.name, argumentsDelta, done });
  }
}
