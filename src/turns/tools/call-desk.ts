import type { TurnEventBody } from "../../log/event.ts";
import type { ToolChoice } from "../../log/request.ts";
import { ArgumentStream } from "./arguments/argument-stream.ts";
import { checkArguments, type ReadArguments } from "./arguments/check-arguments.ts";
import type { CallAttempt } from "./forms/call-shapes.ts";
import type { ShownTool, ToolNames } from "./names.ts";

/** The history of a call, for the counts per model. */
export type CallRepair = "first_try" | "repaired" | "reasked" | "failed";

/** A call that could not be accepted as it was written. `sent` is the part of its arguments that readers already got. */
export interface CallProblem {
  readonly asked: string;
  readonly tool: ShownTool | undefined;
  readonly message: string;
  readonly callId: string;
  readonly sent: string;
  /** The whole arguments, where they only miss finer rules: they are passed on if no correction comes. */
  readonly asWritten?: string;
}

export interface CallDeskOptions {
  readonly names: ToolNames;
  readonly choice: ToolChoice;
  readonly parallel: boolean;
  /** Unique to the turn; call ids consist of it and a number, so that the same answer read again gives the same ids. */
  readonly seed: string;
  /** Whether a call that only misses finer rules may still be asked for again: nothing of the answer was shown. */
  readonly mayHold: () => boolean;
}

/** A call whose arguments are still being written. */
export interface OpenCall {
  /** Takes text up to the end of the arguments; answers how much was taken. */
  push(text: string): number;
  readonly raw: string;
  readonly closed: boolean;
  readonly malformed: boolean;
  /** The whole call was read; `clean` when it was written exactly as taught. */
  finish(value: unknown, clean: boolean): void;
  fail(message: string): void;
  /** The answer was cut off at its length limit: the incomplete `body` goes out, never marked done. */
  cut(body: string): void;
}

/**
 * Where calls read from an answer are checked and become events. Every call ends here as accepted, or as a problem to
 * ask again about: none is dropped. The exceptions are those past the first where the client allows one call only.
 * A call that only misses finer rules of its schema is held back while nothing else was shown, and passed on after that.
 * A little over 300 lines: the ways in which a call may come share the ids and the counts of one answer.
 */
export class CallDesk {
  readonly problems: CallProblem[] = [];
  readonly outcomes: CallRepair[] = [];
  readonly #options: CallDeskOptions;
  readonly #emit: (event: TurnEventBody) => void;
  /** Problems of the answer before, in a second answer to the same prompt. */
  readonly #reopened: CallProblem[];
  readonly #isSecond: boolean;
  /** Calls that readers have whole, by tool and arguments: a second answer that repeats one means the same call. */
  readonly #given: Set<string>;
  #accepted = 0;
  #holds = false;
  #numbered: number;

  constructor(options: CallDeskOptions, emit: (event: TurnEventBody) => void, before?: CallDesk) {
    this.#options = options;
    this.#emit = emit;
    this.#reopened = before === undefined ? [] : [...before.problems];
    this.#isSecond = before !== undefined;
    this.#given = new Set(before === undefined ? [] : before.#given);
    this.#numbered = before === undefined ? 0 : before.#numbered;
  }

  get accepted(): number {
    return this.#accepted;
  }

  /** Calls of the answer before that readers got the beginning of, and that this answer did not complete. */
  get stillOpen(): readonly CallProblem[] {
    return this.#reopened.filter(({ sent }) => sent !== "");
  }

  /** Passes on the calls of this answer that are held back: something else of the answer is about to be shown. */
  release(): void {
    if (!this.#holds) return;
    this.#holds = false;
    const held = this.problems.filter(({ asWritten }) => asWritten !== undefined);
    const rest = this.problems.filter(({ asWritten }) => asWritten === undefined);
    this.problems.splice(0, this.problems.length, ...rest);
    for (const problem of held) this.#passOn(problem);
  }

  /** Passes on the calls of the answer before that were held back, and that this answer did not correct. */
  passOnUncorrected(): void {
    for (const problem of this.#reopened.splice(0)) {
      if (problem.asWritten === undefined) this.#reopened.push(problem);
      else this.#passOn(problem);
    }
  }

  #passOn({ tool, callId, asWritten }: CallProblem): void {
    if (tool === undefined || asWritten === undefined) return;
    this.#accepted++;
    this.outcomes.push("first_try");
    this.#emitCall(tool, callId, asWritten, true);
  }

  get forced(): boolean {
    return this.#options.choice.type === "required" || this.#options.choice.type === "named";
  }

  get names(): ToolNames {
    return this.#options.names;
  }

  /** A call that was read whole, in any form. */
  attempt(attempt: CallAttempt, clean: boolean): void {
    if (!this.#mayCallAgain()) return;
    const problem = this.#misnamed(attempt);
    if (problem !== undefined || attempt.tool === undefined)
      this.#fail({ ...attempt, sent: "", callId: this.#nextId() }, problem ?? "");
    else {
      const call = { asked: attempt.asked, tool: attempt.tool, sent: "", callId: this.#nextId() };
      this.#accept(call, { value: attempt.arguments, raw: undefined, clean });
    }
  }

  /** Something that began as a call and cannot be read. */
  unreadable(asked: string, tool: ShownTool | undefined, message: string): void {
    if (this.#mayCallAgain()) this.#fail({ asked, tool, sent: "", callId: this.#nextId() }, message);
  }

  /** A call whose arguments come as JSON, bit by bit. */
  open(tool: ShownTool, asked: string): OpenCall {
    const callId = this.#nextId();
    const problem = this.#misnamed({ asked, tool, arguments: undefined });
    const mute = !this.#mayCallAgain() || problem !== undefined;
    const stream = new ArgumentStream(tool.check());
    const early = !mute && !this.#isSecond && tool.wrappedIn === undefined;
    const sent = () => (early ? stream.sent : "");
    return {
      push: (text) => {
        const { taken, send } = stream.push(text);
        if (early && send !== "") this.#emitCall(tool, callId, send, false);
        return taken;
      },
      get raw() {
        return stream.raw;
      },
      get closed() {
        return stream.closed;
      },
      get malformed() {
        return stream.malformed;
      },
      finish: (value, clean) => {
        if (problem !== undefined) this.#fail({ asked, tool, sent: "", callId }, problem);
        else if (!mute) this.#accept({ asked, tool, sent: sent(), callId }, { value, raw: stream.raw, clean });
      },
      fail: (message) => {
        if (!mute || problem !== undefined) this.#fail({ asked, tool, sent: sent(), callId }, problem ?? message);
      },
      cut: (body) => {
        if (mute) return;
        this.#accepted++;
        if (sent() === "") this.#emitCall(tool, callId, body, false);
      },
    };
  }

  /** Text of a freeform call, as it comes. */
  freeform(tool: ShownTool, asked: string): { push(text: string): void; finish(): void; cut(): void } {
    const callId = this.#nextId();
    const problem = this.#misnamed({ asked, tool, arguments: "" });
    const mute = !this.#mayCallAgain();
    const whole = { text: "" };
    const early = !mute && problem === undefined;
    if (early) this.#accepted++;
    return {
      push: (text) => {
        whole.text += text;
        if (early && text !== "") this.#emitCall(tool, callId, text, false);
      },
      finish: () => {
        if (problem !== undefined && !mute) this.#fail({ asked, tool, sent: "", callId }, problem);
        if (!early) return;
        this.#emitCall(tool, callId, "", true);
        this.outcomes.push(this.#isSecond ? "reasked" : "first_try");
      },
      cut: () => undefined,
    };
  }

  #mayCallAgain(): boolean {
    return this.#options.parallel || this.#accepted + this.problems.length === 0;
  }

  #misnamed({ asked, tool }: CallAttempt): string | undefined {
    const { choice, names } = this.#options;
    if (tool === undefined) {
      return `There is no tool named ${asked}. The tools are: ${names.tools.map(({ shownName }) => shownName).join(", ")}.`;
    }
    if (choice.type !== "named" || choice.name === tool.tool.name) return undefined;
    return `Only ${names.shown(choice.name)} may be called in this answer.`;
  }

  #accept(call: ReadCall & { readonly tool: ShownTool }, read: ReadArguments & { readonly clean: boolean }): void {
    const { tool, sent, callId } = call;
    const { value, clean } = read;
    const reopened = this.#reopened.findIndex((problem) => problem.tool === tool);
    const before = reopened === -1 ? undefined : this.#reopened[reopened];
    const checked = checkArguments(tool, read, before?.sent ?? sent);
    if (!checked.ok) {
      this.#fail(call, checked.message);
      return;
    }
    if (checked.misses !== undefined && sent === "" && this.#options.mayHold()) {
      this.#holds = true;
      this.problems.push({ ...call, message: checked.misses, asWritten: checked.rest });
      return;
    }
    const given = JSON.stringify([tool.tool.name, value]);
    if (this.#isSecond && this.#given.has(given)) return; // the second prompt asked the model not to repeat it
    if (!this.#isSecond) this.#given.add(given);
    if (before !== undefined) this.#reopened.splice(reopened, 1);
    this.#accepted++;
    this.#emitCall(tool, before?.callId ?? callId, checked.rest, true);
    const repaired = checked.changed || !clean;
    this.outcomes.push(this.#isSecond ? "reasked" : repaired ? "repaired" : "first_try");
  }

  #fail({ asked, tool, sent, callId }: ReadCall, message: string): void {
    this.problems.push({ asked, tool, message, sent, callId });
  }

  #nextId(): string {
    this.#numbered++;
    return `call_${this.#options.seed}_${this.#numbered}`;
  }

  #emitCall(tool: ShownTool, callId: string, argumentsDelta: string, done: boolean): void {
    this.release();
    this.#emit({ type: "tool_call", callId, name: tool.tool.name, argumentsDelta, done });
  }
}

/** A call as it was read, before its arguments are judged. */
type ReadCall = Pick<CallProblem, "asked" | "tool" | "sent" | "callId">;
