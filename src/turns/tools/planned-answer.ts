import type { TurnEventBody, Usage } from "../../log/event.ts";
import type { End, PromptAnswer } from "../run/answer.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import { AnswerReader, type AnswerResult } from "./answer-reader.ts";

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
  readonly #isSecond: boolean;

  /** `before`: the answer that this one completes. Then the client has `started` already, and sees no thoughts about our question. */
  constructor(
    plan: AnswerPlan,
    { before, mayAskAgain }: { readonly before?: PlannedAnswer; readonly mayAskAgain: boolean },
  ) {
    this.reader = new AnswerReader(plan, { before: before?.reader, mayAskAgain });
    this.#isSecond = before !== undefined;
  }

  push(event: TurnEventBody): readonly TurnEventBody[] {
    if (this.end !== undefined) return [];
    switch (event.type) {
      case "text":
        return this.reader.push(event.delta);
      case "rewritten":
        return this.reader.rewrite(event.text);
      case "usage": {
        const { type: _, ...usage } = event;
        this.usage = usage;
        return [];
      }
      case "finished": {
        this.end = event;
        const { raw } = this.reader;
        const rest = event.text.startsWith(raw) ? event.text.slice(raw.length) : "";
        const last = rest === "" ? [] : this.reader.push(rest);
        const { events, result } = this.reader.end(event.reason.unified === "length" ? "length" : "stop");
        this.result = result;
        return [...last, ...events];
      }
      case "failed":
        this.end = event;
        return this.reader.giveUp();
      case "cancelled":
        this.end = event;
        return [];
      case "thinking":
        this.reader.noteThought();
        return this.#isSecond ? [] : [event];
      case "started":
        return this.#isSecond ? [] : [event];
      case "tool_call":
        return [event];
      default:
        return event satisfies never;
    }
  }
}
