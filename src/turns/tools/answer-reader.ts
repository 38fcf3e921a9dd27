import type { TurnEventBody } from "../../log/event.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import { AnswerScanner } from "./answer-scanner.ts";
import { CallDesk, type CallRepair } from "./call-desk.ts";
import { Emission } from "./emission.ts";
import { announcedCall } from "./forms/announced-call.ts";
import type { EndCause } from "./forms/blocks.ts";
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

/**
 * Reads one answer as it grows: text in, events out. A second answer (`before`: the first one's reader) completes the parts that the
 * first left open; its prose is not shown.
 */
export class AnswerReader {
  /** The answer as the model wrote it. */
  raw = "";
  readonly #plan: AnswerPlan;
  readonly #before: AnswerReader | undefined;
  readonly #mayAskAgain: boolean;
  #thought = false;
  readonly #emission: Emission;
  #desk: CallDesk;
  #json: JsonAnswer | undefined;
  #scanner: AnswerScanner | undefined;

  constructor(plan: AnswerPlan, { before, mayAskAgain }: ReadOptions) {
    this.#plan = plan;
    this.#mayAskAgain = mayAskAgain && before === undefined;
    this.#before = before;
    this.#emission = before === undefined ? new Emission() : before.#emission;
    [this.#desk, this.#json, this.#scanner] = this.#parts();
  }

  get visibleText(): string {
    return this.#emission.text;
  }

  get outcomes(): readonly CallRepair[] {
    return this.#desk.outcomes;
  }

  /** Calls that could not be used, a call that had to be made and was not among them. */
  get failedCalls(): number {
    const missing = (this.#desk.forced || this.#owesCalls) && this.#desk.accepted === 0;
    return Math.max(this.#desk.problems.length, missing ? 1 : 0);
  }

  /** Calls that readers got, the first answer's included. */
  get calls(): number {
    return this.#emission.calls;
  }

  /** Calls that readers got to their end. */
  get wholeCalls(): number {
    return this.#emission.wholeCalls;
  }

  /** Readers saw a thought of this answer. */
  noteThought(): void {
    this.#thought = true;
  }

  /** No second answer came: the calls that were held back for it go out as they were written. */
  giveUp(): readonly TurnEventBody[] {
    this.#desk.passOnUncorrected();
    return this.#emission.take();
  }

  push(delta: string): readonly TurnEventBody[] {
    this.raw += delta;
    if (this.#scanner === undefined) this.#text(delta);
    else this.#scanner.push(delta);
    return this.#emission.take();
  }

  /** The upstream changed its text: `text` is the answer as it now reads. */
  rewrite(text: string): readonly TurnEventBody[] {
    this.raw = "";
    if (this.#before === undefined) this.#emission.restart();
    [this.#desk, this.#json, this.#scanner] = this.#parts();
    const events = this.push(text);
    this.#emission.caughtUp();
    return [...events, ...this.#emission.take()];
  }

  end(end: EndCause): { readonly events: readonly TurnEventBody[]; readonly result: AnswerResult } {
    this.#scanner?.end(end);
    const json = this.#endJson(end);
    this.#desk.passOnUncorrected();
    if (this.#before === undefined) this.#emission.close();
    const { contradicted } = this.#emission;
    const problem = contradicted
      ? { text: "the IDE's server changed a call that had already been sent", again: undefined }
      : (this.#callProblem() ?? json);
    const reask = problem === undefined && end === "stop" ? this.#onlyAnnounced() : problem?.again;
    return {
      events: this.#emission.take(),
      result: {
        problem: problem?.text,
        reask: this.#before === undefined ? reask : undefined,
        isExcused: !contradicted && this.wholeCalls > 0,
      },
    };
  }

  #parts(): [CallDesk, JsonAnswer | undefined, AnswerScanner | undefined] {
    const { names, choice, parallel, seed, format } = this.#plan;
    const emit = (event: TurnEventBody) => this.#emission.add(event);
    const before = this.#before;
    const mayHold = () => this.#mayAskAgain && !this.#isShown;
    const options = { names, choice, parallel, seed, mayHold };
    const desk = new CallDesk(options, emit, before === undefined ? undefined : before.#desk);
    const show = (delta: string) => emit({ type: "text", delta });
    const jsonBefore = before === undefined ? undefined : before.#json;
    const json = format.type === "text" ? undefined : new JsonAnswer(format, show, jsonBefore?.sent);
    const scanner = names.tools.length === 0 ? undefined : new AnswerScanner(desk, (text) => this.#text(text));
    return [desk, json, scanner];
  }

  get #isShown(): boolean {
    return this.#thought || this.#emission.calls > 0 || this.#emission.text.trim() !== "";
  }

  #text(delta: string): void {
    if (delta.trim() !== "") this.#desk.release();
    if (this.#json !== undefined) this.#json.push(delta);
    else if (this.#before === undefined) this.#emission.add({ type: "text", delta });
  }

  #endJson(end: EndCause): { readonly text: string; readonly again: string } | undefined {
    if (this.#json === undefined) return undefined;
    if (this.#desk.accepted > 0 || this.#desk.problems.length > 0 || this.#desk.forced) {
      if (this.#before === undefined) this.#json.sendAsPlainText();
      return undefined;
    }
    const wrong = this.#json.end(end);
    if (wrong === undefined) return undefined;
    const again = `Your last answer cannot be used: ${wrong}. Write the whole answer again, corrected: one strict JSON value in the form asked for, the right parts unchanged and in the same order, and nothing else.`;
    return { text: `an answer that is not in the form asked for: ${wrong}`, again };
  }

  #callProblem(): { readonly text: string; readonly again: string } | undefined {
    const { problems, accepted, forced, stillOpen } = this.#desk;
    if (problems.length === 0 && stillOpen.length > 0) {
      return { text: `no correction of its call of ${stillOpen[0]?.asked}: ${stillOpen[0]?.message}`, again: "" };
    }
    if (problems.length === 0) {
      const owed = forced || this.#owesCalls;
      if (!owed || accepted > 0) return undefined;
      const tools = this.#plan.choice.type === "named" ? this.#plan.names.shown(this.#plan.choice.name) : "a tool";
      return {
        text: `an answer without the call that it had to make`,
        again: `Your last answer calls no tool, but it has to call ${tools}. Write the call now, and nothing else.`,
      };
    }
    const lines = problems.map(({ asked, message }) => `- ${asked}: ${message}`);
    const example = problems.find(({ tool }) => tool !== undefined)?.tool ?? this.#plan.names.tools[0];
    const schema =
      example?.tool.kind === "function"
        ? `\n\nThe schema of ${example.shownName}: ${JSON.stringify(example.shownParameters)}`
        : "";
    const others = accepted > 0 ? " Its other calls were accepted; do not repeat them." : "";
    const form = writeCall(
      example?.shownName ?? "",
      example?.tool.kind === "freeform" ? "its input" : "{ …arguments as JSON… }",
    );
    return {
      text: `a call that cannot be used: ${problems.map(({ asked, message }) => `${asked}: ${message}`).join("; ")}`,
      again: `Your last answer holds a call that cannot be used, and it was not run:\n${lines.join("\n")}\n\nWrite only the corrected call again, in exactly this form, with what was right in it unchanged and in the same order.${others}\n\n${form}${schema}`,
    };
  }

  /** The problem of an answer that promises a call, gives fitting arguments, and does not make the call. */
  #onlyAnnounced(): string | undefined {
    const { choice, names } = this.#plan;
    if (this.#emission.calls > 0 || this.#json !== undefined || choice.type === "none") return undefined;
    const tool = announcedCall(this.raw, names);
    if (tool === undefined) return undefined;
    const form = writeCall(tool.shownName, "{ …arguments as JSON… }");
    return `Your last answer announces a call of ${tool.shownName} without making it, so nothing was run. Write the call now, in exactly this form, and nothing else:\n\n${form}`;
  }

  /** Whether this answer was asked for because the first had calls that could not be used. */
  get #owesCalls(): boolean {
    return (this.#before?.failedCalls ?? 0) > 0;
  }
}
