import type { ErrorRecord } from "../../base/errors.ts";
import { type Answer, type AnswerEnd, AnswerFold, type AnswerStep, type Block } from "./answer.ts";
import type { EncodeContext, Encoder, WireEvent } from "./dialect.ts";
import { failureOf } from "./errors.ts";

/** How an API writes each step of an answer. */
export interface StepWriters extends Pick<Encoder, "heartbeat"> {
  /** Before any event; nothing by default. */
  begin?(): readonly WireEvent[];
  /** A block begins; nothing by default. */
  open?(block: Block): readonly WireEvent[];
  delta(block: Block, delta: string): readonly WireEvent[];
  /** `text`: the whole visible text from here on. */
  rewritten(block: Block, delta: string, text: string): readonly WireEvent[];
  /** A block has ended; nothing by default. */
  close?(block: Block): readonly WireEvent[];
  finished(end: AnswerEnd & { readonly type: "finished" }, answer: Answer): readonly WireEvent[];
  readonly failed: (error: ErrorRecord) => readonly WireEvent[];
}

/** The encoder of an API that writes an answer step by step. */
export function stepEncoder({ parsed }: Pick<EncodeContext, "parsed">, writers: StepWriters): Encoder {
  const fold = new AnswerFold(parsed.request);
  const write = (step: AnswerStep): readonly WireEvent[] => {
    switch (step.type) {
      case "open":
        return writers.open?.(step.block) ?? [];
      case "delta":
        return writers.delta(step.block, step.delta);
      case "rewritten":
        return writers.rewritten(step.block, step.delta, step.text);
      case "close":
        return writers.close?.(step.block) ?? [];
      case "end":
        return step.end.type === "finished"
          ? writers.finished(step.end, fold.answer)
          : writers.failed(failureOf(step.end));
      default:
        return step satisfies never;
    }
  };
  return {
    open: () => writers.begin?.() ?? [],
    encode: (event) => fold.push(event).flatMap(write),
    heartbeat: writers.heartbeat,
    broken: writers.failed,
  };
}
