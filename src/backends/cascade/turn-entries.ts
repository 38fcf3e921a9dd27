import { type Answer, emptyAnswer } from "../answer-diff.ts";
import type { StepKind } from "./step-kinds.ts";
import { type AnswerPhase, emptyView, type ShownError, type TurnView } from "./turn-view.ts";

/** One step of a trajectory, as far as a turn cares, from a typed step or from a block of the transcript. */
export interface Entry {
  readonly kind: StepKind;
  /** Message id of an answer; empty where the server gives none. */
  readonly id: string;
  readonly answer: Answer;
  readonly phase: AnswerPhase;
  readonly error: ShownError | undefined;
  readonly tool: string | undefined;
}

/** An entry that says no more than its kind. */
export function plainEntry(kind: StepKind, tool?: string): Entry {
  return { kind, id: "", answer: emptyAnswer, phase: "none", error: undefined, tool };
}

/**
 * The entries after a tail of them was read again from `keep` on; undefined when that tail does not fit what stood there:
 * steps were inserted or taken away before it.
 */
export function spliceTail(
  known: readonly Entry[],
  keep: number,
  tail: readonly Entry[],
): readonly Entry[] | undefined {
  if (keep < 0 || keep > known.length) return undefined;
  if (keep === 0) return tail;
  const stood = known[keep];
  const found = tail[0];
  const fits = stood === undefined || (found !== undefined && found.kind === stood.kind && found.id === stood.id);
  return fits ? [...known.slice(0, keep), ...tail] : undefined;
}

/**
 * What entries show of the turn: those after its user message (the first at or after `from`), up to the next one. On a
 * `fresh` trajectory everything before that message is the turn's too. `lastAnswer` is the place of its last answer.
 */
export function viewOf(
  entries: readonly Entry[],
  from: number,
  fresh: boolean,
): { readonly view: TurnView; readonly lastAnswer: number | undefined } {
  const prompt = entries.findIndex((entry, i) => i >= from && entry.kind === "user");
  if (prompt < 0 && !fresh) return { view: { ...emptyView, entries: entries.length }, lastAnswer: undefined };
  const start = Math.max(prompt, from);
  const next = prompt < 0 ? -1 : entries.findIndex((entry, i) => i > prompt && entry.kind === "user");
  const turn = entries.slice(start, next < 0 ? entries.length : next);
  const lastAt = turn.findLastIndex((entry) => entry.kind === "answer");
  const last = turn[lastAt];
  const after = turn.slice(lastAt + 1);
  const view: TurnView = {
    prompted: prompt >= 0 || last !== undefined,
    answer: answerOf(turn, lastAt),
    phase: last?.phase ?? "none",
    checkpoint: after.some((entry) => entry.kind === "checkpoint"),
    checkpointLast: after.at(-1)?.kind === "checkpoint",
    error: after.findLast((entry) => entry.error !== undefined)?.error ?? last?.error,
    tool: turn.find((entry) => entry.tool !== undefined)?.tool,
    cut: false,
    overtaken: next >= 0,
    entries: entries.length,
  };
  return { view, lastAnswer: last === undefined ? undefined : start + lastAt };
}

/**
 * Several answers of one turn are one text that was cut, when the context was compacted or a limit of length was passed:
 * put together as they are. One that broke and was followed by another attempt is not part of it.
 */
function answerOf(turn: readonly Entry[], lastAt: number): Answer {
  const parts = turn.filter((entry, i) => entry.kind === "answer" && (i === lastAt || entry.phase !== "broken"));
  if (parts.length <= 1) return parts[0]?.answer ?? emptyAnswer;
  return {
    text: parts.map((entry) => entry.answer.text).join(""),
    thinking: parts
      .map((entry) => entry.answer.thinking)
      .filter((thinking) => thinking !== "")
      .join("\n\n"),
  };
}
