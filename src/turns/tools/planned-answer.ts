import type { TerminalEvent, TurnEventBody, Usage } from "../../log/event.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import { Calls } from "./calls.ts";
import { CallFinder } from "./find-calls.ts";
import { mostOfEnd } from "./forms/announced-call.ts";
import { JsonAnswer } from "./json-answer.ts";
import { nativeTools } from "./native-tools.ts";
import {
  askForAnnounced,
  contradiction,
  missingCall,
  type Problem,
  summaryProblem,
  unusableCalls,
  wrongJson,
} from "./problems.ts";
import { Told } from "./told.ts";

/**
 * One answer, read by its plan as it arrives: text that the model wrote as calls becomes `tool_call` events, and an answer that must
 * be JSON is checked. Usage and the end are kept back, since `judge` decides on them.
 */
export class PlannedAnswer {
  usage: Usage | undefined;
  /** The terminal event, once it arrived; `push` answers nothing after it. */
  end: TerminalEvent | undefined;
  /** The plan's verdict, once the answer has finished. */
  result:
    | {
        /** Why the answer cannot be used, for the model and for people; undefined when it can be used. */
        readonly problem: string | undefined;
        /** The text that asks the model to answer again. If `problem` is absent, the answer can be used without a second one. */
        readonly reask: string | undefined;
        /** Readers have a whole call already, and the problem is another call: the turn ends with the calls that it has. */
        readonly isExcused: boolean;
      }
    | undefined;
  /** How many calls the agent made by itself; undefined for an answer whose calls are text. */
  nativeCalls: number | undefined;
  readonly told: Told;
  readonly plan: AnswerPlan;
  calls: Calls;
  readonly #before: PlannedAnswer | undefined;
  readonly #mayAskAgain: boolean;
  readonly #raw: string[] = [];
  #isSummary = false;
  #json: JsonAnswer | undefined;
  #finder: CallFinder | undefined;

  constructor(
    plan: AnswerPlan,
    {
      before,
      mayAskAgain,
      isNative = false,
    }: {
      /** The answer that this one completes. Then the client has `started` already, and sees no thoughts and no prose about our question. */
      readonly before?: PlannedAnswer;
      readonly mayAskAgain: boolean;
      /** The log has `started` already, and it said so. */
      readonly isNative?: boolean;
    },
  ) {
    this.nativeCalls = isNative ? 0 : undefined;
    this.told = before?.told ?? new Told(plan.seed);
    this.told.beginAnswer();
    this.plan = plan;
    this.#before = before;
    this.#mayAskAgain = mayAskAgain;
    this.calls = this.#begin();
  }

  /** The answer as the model wrote it. */
  get raw(): string {
    return this.#raw.join("");
  }

  /** What a text has beyond the answer, as far as that was read; undefined if it begins in another way. Joins nothing: that takes long for megabytes. */
  #beyond(text: string): string | undefined {
    let at = 0;
    for (const piece of this.#raw) {
      if (!text.startsWith(piece, at)) return undefined;
      at += piece.length;
    }
    return text.slice(at);
  }

  /** The end of the answer, in which a call may be announced. */
  get #lastPart(): string {
    let from = this.#raw.length;
    for (let length = 0; from > 0 && length < mostOfEnd; ) length += this.#raw[--from]?.length ?? 0;
    return this.#raw.slice(from).join("");
  }

  /** Calls that could not be used, a call that had to be made and was not among them. */
  get failedCalls(): number {
    return Math.max(this.calls.problems.length, this.#lacksCall ? 1 : 0);
  }

  /** A call had to be made, also since the answer before had one that could not be used. */
  get #lacksCall(): boolean {
    const owesCall = (this.#before?.failedCalls ?? 0) > 0;
    return (this.plan.mustCall || owesCall) && this.calls.accepted === 0;
  }

  /** Text is shown, except that of a second answer that only completes the first. */
  get #showsText(): boolean {
    return this.#before === undefined || this.#before.#isSummary;
  }

  push(event: TurnEventBody): readonly TurnEventBody[] {
    if (this.end !== undefined) return [];
    const shown = this.#before === undefined ? [event] : [];
    switch (event.type) {
      case "started":
        if (event.tools === "native") this.nativeCalls = 0;
        return shown;
      case "thinking":
        this.told.isSpoken = true;
        return shown;
      case "usage": {
        const { type: _, ...usage } = event;
        this.usage = usage;
        return [];
      }
      case "finished":
      case "failed":
      case "cancelled":
        this.end = event;
        break;
      case "text":
      case "rewritten":
      case "tool_call":
        break;
      default:
        return event satisfies never;
    }
    return this.nativeCalls === undefined ? this.#read(event) : this.#passOn(event);
  }

  /** An event of an agent that calls tools by itself. */
  #passOn(event: TurnEventBody): readonly TurnEventBody[] {
    if (event === this.end) return [];
    if (event.type !== "tool_call" || this.nativeCalls === undefined) return [event];
    this.nativeCalls++;
    const call = nativeTools(this.plan.names, { toolChoice: this.plan.choice }).clientCall(event);
    return call === undefined ? [] : [call];
  }

  #read(event: TurnEventBody): readonly TurnEventBody[] {
    if (event.type === "text") this.#readOn(event.delta);
    else if (event.type === "rewritten") this.#rewrite(event.text);
    else if (event.type === "finished") {
      this.#readOn(this.#beyond(event.text) ?? "");
      this.#finish(event.reason.unified === "length" ? "length" : "stop");
    } else if (event.type === "failed" && this.#before !== undefined) this.calls.passOnWrong(true);
    else if (event.type === "tool_call") return [event];
    return this.told.take();
  }

  #begin(): Calls {
    const { names, format } = this.plan;
    const before = this.#before;
    const mayAsk = this.#mayAskAgain && before === undefined;
    const show = (delta: string) => this.told.say(delta);
    const jsonBefore = before === undefined ? undefined : before.#json;
    const found = {
      text: (text: string) => this.#text(text),
      call: (call: Parameters<Calls["attempt"]>[0]) => this.calls.attempt(call),
      summary: () => {
        this.#isSummary = true;
      },
    };
    this.#isSummary = false;
    this.#json = format.type === "text" ? undefined : new JsonAnswer(format, show, jsonBefore?.sent);
    this.#finder = names.tools.length === 0 ? undefined : new CallFinder(this.plan, found);
    return new Calls(this.plan, this.told, mayAsk, before?.calls);
  }

  #readOn(delta: string): void {
    if (delta === "") return;
    this.#raw.push(delta);
    if (this.#finder === undefined) this.#text(delta);
    else this.#finder.push(delta);
  }

  /** The upstream changed its text: `text` is the answer as it now reads. */
  #rewrite(text: string): void {
    const more = this.#beyond(text);
    if (more !== undefined) return this.#readOn(more);
    this.#raw.length = 0;
    this.told.readAgain(this.#showsText);
    this.calls = this.#begin();
    this.#readOn(text);
    this.told.caughtUp();
  }

  #text(delta: string): void {
    if (this.#json !== undefined) this.#json.push(delta);
    else if (this.#showsText) this.told.say(delta);
  }

  #finish(cause: "stop" | "length"): void {
    this.#finder?.end(cause);
    const wrong = this.#endJson(cause);
    if (this.#before === undefined ? !this.#mayAskAgain : this.#before.failedCalls > 0) this.calls.passOnWrong();
    const { told } = this;
    const { isContradicted } = told;
    const problem = isContradicted ? contradiction : this.#isSummary ? summaryProblem : (this.#callProblem() ?? wrong);
    const isAnnounced = cause === "stop" && told.calls.length === 0 && this.#json === undefined;
    const announced = isAnnounced ? askForAnnounced(this.plan, this.#lastPart) : undefined;
    const reask = problem === undefined ? announced : problem.again;
    this.result = {
      problem: problem?.text,
      reask: this.#before === undefined ? reask : undefined,
      isExcused: !isContradicted && told.calls.some(({ done }) => done),
    };
  }

  #callProblem(): Problem | undefined {
    const { problems, accepted } = this.calls;
    if (problems.length > 0) return unusableCalls(this.plan, problems, accepted);
    return this.#lacksCall ? missingCall(this.plan) : undefined;
  }

  #endJson(cause: "stop" | "length"): Problem | undefined {
    if (this.#json === undefined || this.#isSummary) return undefined;
    if (this.calls.accepted > 0 || this.calls.problems.length > 0 || this.plan.mustCall) {
      if (this.#before === undefined) this.#json.sendAsIs();
      return undefined;
    }
    const wrong = this.#json.end(cause);
    return wrong === undefined ? undefined : wrongJson(wrong);
  }
}
