import type { TurnEventBody, Usage } from "../../log/event.ts";
import type { End, PromptAnswer } from "../event-stage.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import { AnswerReader, type AnswerResult } from "./answer-reader.ts";
import { nativeTools } from "./native-tools.ts";

/**
 * One answer, read by its plan as it arrives: text that the model wrote as calls becomes `tool_call` events, and an answer that must
 * be JSON is checked. Usage and the end are kept back, since `judge` decides on them.
 */
export class PlannedAnswer implements PromptAnswer {
  usage: Usage | undefined;
  end: End | undefined;
  /** The plan's verdict, once the answer has finished. */
  result: AnswerResult | undefined;
  readonly reader: AnswerReader;
  /** How many calls the agent made by itself; undefined for an answer whose calls are text. */
  nativeCalls: number | undefined;
  readonly #plan: AnswerPlan;
  readonly #isSecond: boolean;

  /** `isNative`: the log has `started` already, and it said so. `before`: the answer that this one completes. Then the client has `started` already, and sees no thoughts about our question. */
  constructor(
    plan: AnswerPlan,
    {
      before,
      mayAskAgain,
      isNative = false,
    }: { readonly before?: PlannedAnswer; readonly mayAskAgain: boolean; readonly isNative?: boolean },
  ) {
    this.nativeCalls = isNative ? 0 : undefined;
    this.#plan = plan;
    this.reader = new AnswerReader(plan, { before: before?.reader, mayAskAgain });
    this.#isSecond = before !== undefined;
  }

  get mustCall(): boolean {
    return this.#plan.mustCall;
  }

  push(event: TurnEventBody): readonly TurnEventBody[] {
    if (this.end !== undefined) return [];
    if (event.type === "started" && event.tools === "native") this.nativeCalls = 0;
    const isNative = this.nativeCalls !== undefined;
    switch (event.type) {
      case "text":
        return isNative ? [event] : this.reader.push(event.delta);
      case "rewritten":
        return isNative ? [event] : this.reader.rewrite(event.text);
      case "usage": {
        const { type: _, ...usage } = event;
        this.usage = usage;
        return [];
      }
      case "finished":
      case "failed":
      case "cancelled":
        this.end = event;
        return isNative ? [] : this.#ended(event);
      case "thinking":
        this.reader.noteThought();
        return this.#isSecond ? [] : [event];
      case "started":
        return this.#isSecond ? [] : [event];
      case "tool_call": {
        if (this.nativeCalls === undefined) return [event];
        this.nativeCalls++;
        const call = nativeTools(this.#plan.names, { toolChoice: this.#plan.choice }).clientCall(event);
        return call === undefined ? [] : [call];
      }
      default:
        return event satisfies never;
    }
  }

  #ended(end: End): readonly TurnEventBody[] {
    if (end.type !== "finished") return end.type === "failed" ? this.reader.giveUp() : [];
    const { raw } = this.reader;
    const rest = end.text.startsWith(raw) ? end.text.slice(raw.length) : "";
    const last = rest === "" ? [] : this.reader.push(rest);
    const { events, result } = this.reader.end(end.reason.unified === "length" ? "length" : "stop");
    this.result = result;
    return [...last, ...events];
  }
}
