import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import type { EventStage } from "./event-stage.ts";

export type End = TurnEventBody & { readonly type: "finished" | "failed" | "cancelled" };

/** The answer to one prompt as it arrives: a stage that keeps the end back, for `exchange.ts` to act on before it is logged. */
export interface PromptAnswer extends EventStage {
  /** The terminal event, once it arrived; `push` answers nothing after it. */
  readonly end: End | undefined;
}

/** An answer that passes unchanged. */
export class PlainAnswer implements PromptAnswer {
  end: End | undefined;

  push(event: TurnEventBody): readonly TurnEventBody[] {
    if (this.end !== undefined) return [];
    if (!isTerminal(event)) return [event];
    this.end = event;
    return [];
  }
}
