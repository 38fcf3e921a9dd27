import type { TurnEventBody } from "../../log/event.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import { type CallRepair, Calls } from "./calls.ts";
import { CallFinder } from "./find-calls.ts";
import { announcedCall } from "./forms/announced-call.ts";
import type { EndCause } from "./forms/source.ts";
import { writeCall } from "./grammar.ts";
import { JsonAnswer } from "./json-answer.ts";

/** The verdict on a whole answer. */
export interface AnswerResult {
  /** Why the answer cannot be used, for the model and for people; undefined when it can be used. */
  readonly problem: string | undefined;
  /** The text that asks the model to answer again. If `problem` is absent, the answer can be used without a second one. */
  readonly reask: string | undefined;
  /** Readers have a whole call already, and the problem is another call: the turn ends with the calls that it has. */
  readonly isExcused: boolean;
}

/** Options for reading one answer. */
export interface ReadOptions {
  /** The first one's reader, of a second answer. */
  readonly before?: AnswerReader | undefined;
  readonly mayAskAgain: boolean;
}

interface Problem {
  readonly text: string;
  readonly again: string;
}

const summaryProblem: Problem = {
  text: "a summary of the conversation in a <summary> tag instead of an answer",
  again:
    "Your last answer is a summary, but nobody asked for one, and it was not shown. Go on with the task: write your next output, a tool call or the answer itself, without a <summary> tag.",
};

/** What readers of the turn hold, over both of its answers. */
class ReaderCopy {
  text = "";
  /** Calls in order, as name and arguments. */
  readonly calls: string[] = [];
  wholeCalls = 0;
  isSpoken = false;
}

/**
 * Reads one answer as it grows: text in, events out. It finds calls (`CallFinder`), and checks them (`Calls`). A second answer
 * (`before`: the first one's reader) completes the parts that the first left open; its prose is not shown.
 */
export class AnswerReader {
  readonly #plan: AnswerPlan;
  readonly #before: AnswerReader | undefined;
  readonly #mayAskAgain: boolean;
  readonly #shown: ReaderCopy;
  readonly #raw: string[] = [];
  #thought = false;
  #out: TurnEventBody[] = [];
  /** The text of an answer that is read again from its start. */
  #textNow: string[] | undefined;
  /** How many calls were sent before this answer. */
  readonly #callsBefore: number;
  /** How many of the sent calls are confirmed by the answer as it now reads. */
  #repeated: number;
  #isContradicted = false;
  #isSummary = false;
  #calls: Calls;
  #json: JsonAnswer | undefined;
  #finder: CallFinder | undefined;

  constructor(plan: AnswerPlan, { before, mayAskAgain }: ReadOptions) {
    this.#plan = plan;
    this.#mayAskAgain = mayAskAgain && before === undefined;
    this.#before = before;
    this.#shown = before === undefined ? new ReaderCopy() : before.#shown;
    this.#callsBefore = this.#shown.calls.length;
    this.#repeated = this.#callsBefore;
    [this.#calls, this.#json, this.#finder] = this.#parts();
  }

  /** The answer as the model wrote it. */
  get raw(): string {
    if (this.#raw.length > 1) this.#raw.splice(0, this.#raw.length, this.#raw.join(""));
    return this.#raw[0] ?? "";
  }

  get visibleText(): string {
    return this.#shown.text;
  }

  get outcomes(): readonly CallRepair[] {
    return this.#calls.outcomes;
  }

  /** Calls that could not be used, a call that had to be made and was not among them. */
  get failedCalls(): number {
    const isMissing = (this.#plan.mustCall || this.#owesCalls) && this.#calls.accepted === 0;
    return Math.max(this.#calls.problems.length, isMissing ? 1 : 0);
  }

  /** Calls that readers got, the first answer's included. */
  get calls(): number {
    return this.#shown.calls.length;
  }

  /** Calls that readers got to their end. */
  get wholeCalls(): number {
    return this.#shown.wholeCalls;
  }

  /** Readers saw a thought of this answer. */
  noteThought(): void {
    this.#thought = true;
  }

  /** No second answer came: the calls that were held back for it go out as they were written. */
  giveUp(): readonly TurnEventBody[] {
    this.#calls.passOnUncorrected();
    return this.#take();
  }

  push(delta: string): readonly TurnEventBody[] {
    this.#raw.push(delta);
    if (this.#finder === undefined) this.#text(delta);
    else this.#finder.push(delta);
    return this.#take();
  }

  /** The upstream changed its text: `text` is the answer as it now reads. */
  rewrite(text: string): readonly TurnEventBody[] {
    const { raw } = this;
    if (text.startsWith(raw)) return text.length === raw.length ? [] : this.push(text.slice(raw.length));
    this.#raw.length = 0;
    if (this.#showsText) this.#textNow = [];
    this.#repeated = this.#callsBefore;
    [this.#calls, this.#json, this.#finder] = this.#parts();
    const events = this.push(text);
    this.#caughtUp();
    return [...events, ...this.#take()];
  }

  end(end: EndCause): { readonly events: readonly TurnEventBody[]; readonly result: AnswerResult } {
    this.#finder?.end(end);
    const json = this.#endJson(end);
    this.#calls.passOnUncorrected();
    const isContradicted = this.#isContradicted || this.#repeated < this.#shown.calls.length;
    const found = this.#isSummary ? summaryProblem : (this.#callProblem() ?? json);
    const problem = isContradicted
      ? { text: "the IDE's server changed a call that had already been sent", again: undefined }
      : found;
    const reask = problem === undefined && end === "stop" ? this.#onlyAnnounced() : problem?.again;
    return {
      events: this.#take(),
      result: {
        problem: problem?.text,
        reask: this.#before === undefined ? reask : undefined,
        isExcused: !isContradicted && this.wholeCalls > 0,
      },
    };
  }

  #parts(): [Calls, JsonAnswer | undefined, CallFinder | undefined] {
    const { names, format } = this.#plan;
    const before = this.#before;
    const mayHold = () => this.#mayAskAgain && !this.#isShown;
    const calls = new Calls(
      this.#plan,
      mayHold,
      (event) => this.#emit(event),
      before === undefined ? undefined : before.#calls,
    );
    const show = (delta: string) => this.#emit({ type: "text", delta });
    const jsonBefore = before === undefined ? undefined : before.#json;
    const json = format.type === "text" ? undefined : new JsonAnswer(format, show, jsonBefore?.sent);
    this.#isSummary = false;
    const parts = {
      text: (text: string) => this.#text(text),
      call: calls.attempt.bind(calls),
      summary: () => {
        this.#isSummary = true;
      },
    };
    return [calls, json, names.tools.length === 0 ? undefined : new CallFinder(this.#plan, parts)];
  }

  get #isShown(): boolean {
    return this.#thought || this.#shown.calls.length > 0 || this.#shown.isSpoken;
  }

  /** Text is shown, except that of a second answer that only completes the first. */
  #text(delta: string): void {
    if (delta.trim() !== "") this.#calls.release();
    if (this.#json !== undefined) this.#json.push(delta);
    else if (this.#showsText) this.#emit({ type: "text", delta });
  }

  get #showsText(): boolean {
    return this.#before === undefined || this.#before.#isSummary;
  }

  #emit(event: TurnEventBody): void {
    const shown = this.#shown;
    if (event.type === "text") {
      shown.isSpoken ||= event.delta.trim() !== "";
      if (this.#textNow !== undefined) {
        this.#textNow.push(event.delta);
        return;
      }
      shown.text += event.delta;
    }
    if (event.type === "tool_call") {
      const call = JSON.stringify([event.name, event.argumentsDelta]);
      const sent = shown.calls[this.#repeated++];
      if (sent !== undefined) {
        this.#isContradicted ||= sent !== call;
        return;
      }
      shown.calls.push(call);
      if (event.done) shown.wholeCalls++;
    }
    this.#out.push(event);
  }

  /** The events since the last time. */
  #take(): readonly TurnEventBody[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  /** The whole of the rewritten answer was read: its text follows what readers have, or replaces it. */
  #caughtUp(): void {
    const now = this.#textNow?.join("");
    this.#textNow = undefined;
    if (now === undefined || now === this.#shown.text) return;
    const before = this.#shown.text;
    if (now.startsWith(before)) this.#out.push({ type: "text", delta: now.slice(before.length) });
    else this.#out.push({ type: "rewritten", text: now });
    this.#shown.text = now;
  }

  #endJson(end: EndCause): Problem | undefined {
    if (this.#json === undefined || this.#isSummary) return undefined;
    if (this.#calls.accepted > 0 || this.#calls.problems.length > 0 || this.#plan.mustCall) {
      if (this.#before === undefined) this.#json.sendAsIs();
      return undefined;
    }
    const wrong = this.#json.end(end);
    if (wrong === undefined) return undefined;
    const again = `Your last answer cannot be used: ${wrong}. Write the whole answer again, corrected: one strict JSON value in the form asked for, the right parts unchanged and in the same order, and nothing else.`;
    return { text: `an answer that is not in the form asked for: ${wrong}`, again };
  }

  #callProblem(): Problem | undefined {
    const { problems, accepted } = this.#calls;
    const { choice, mustCall, names, mark } = this.#plan;
    if (problems.length === 0) {
      if ((!mustCall && !this.#owesCalls) || accepted > 0) return undefined;
      const tools = choice.type === "named" ? names.shown(choice.name) : "a tool";
      return {
        text: "an answer without the call that it had to make",
        again: `Your last answer calls no tool, but it has to call ${tools}. Write the call now, and nothing else.`,
      };
    }
    const lines = problems.map(({ asked, message }) => `- ${asked}: ${message}`);
    const example = problems.find(({ tool }) => tool !== undefined)?.tool ?? names.tools[0];
    const schema =
      example?.tool.kind === "function"
        ? `\n\nThe schema of ${example.shownName}: ${JSON.stringify(example.shownParameters)}`
        : "";
    const others = accepted > 0 ? " Its other calls were accepted; do not repeat them." : "";
    const body = example?.tool.kind === "freeform" ? "its input" : "{ …arguments as JSON… }";
    const form = writeCall(mark, example?.shownName ?? "", body);
    return {
      text: `a call that cannot be used: ${problems.map(({ asked, message }) => `${asked}: ${message}`).join("; ")}`,
      again: `Your last answer holds a call that cannot be used, and it was not run:\n${lines.join("\n")}\n\nWrite only the corrected call again, in exactly this form.${others}\n\n${form}${schema}`,
    };
  }

  /** The problem of an answer that promises a call, gives fitting arguments, and does not make the call. */
  #onlyAnnounced(): string | undefined {
    const { choice, names, mark } = this.#plan;
    if (this.calls > 0 || this.#json !== undefined || choice.type === "none") return undefined;
    const tool = announcedCall(this.raw, names);
    if (tool === undefined) return undefined;
    const form = writeCall(mark, tool.shownName, "{ …arguments as JSON… }");
    return `Your last answer announces a call of ${tool.shownName} without making it, so nothing was run. Write the call now, in exactly this form, and nothing else:\n\n${form}`;
  }

  /** Whether this answer was asked for because the first had calls that could not be used. */
  get #owesCalls(): boolean {
    return (this.#before?.failedCalls ?? 0) > 0;
  }
}
