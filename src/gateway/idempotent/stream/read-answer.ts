import { startOfLog, type TurnId } from "../../../base/ids.ts";
import type { StreamReading } from "../../../turns/attach/attachment.ts";
import { type Answer, AnswerFold, type Block } from "../../dialects/answer.ts";

/** A turn that has ended: its blocks, and whether it waits for results of its calls. */
export interface EndedAnswer {
  readonly blocks: readonly Block[];
  readonly waits: boolean;
}

/** Reads a turn to its end, as an observer. Throws as reading does. */
export async function readAnswer(reading: StreamReading, turnId: TurnId, signal: AbortSignal): Promise<EndedAnswer> {
  const fold = new AnswerFold({ tools: [] });
  for await (const event of reading.follow(turnId, startOfLog, signal)) fold.push(event);
  return { blocks: fold.answer.blocks, waits: waitsForResults(fold.answer.end) };
}

/** Whether a turn with this end continues once its calls have results. */
export function waitsForResults(end: Answer["end"]): boolean {
  return end?.type === "finished" && end.reason.unified === "tool_calls";
}
