import { type AnswerSoFar, emptyAnswer } from "../answer-diff.ts";
import { type AnswerPart, joinParts } from "./answer-parts.ts";
import type { StepKind } from "./step-kinds.ts";
import { type AnswerPhase, emptyView, type IdeTools, type TurnView } from "./turn-view.ts";

/** One step of a trajectory, as far as a turn cares, from a typed step or from a block of the transcript. */
export interface Entry {
  readonly kind: StepKind;
  /** Message id of an answer, or the number of a transcript's message; empty where the server gives none. */
  readonly id: string;
  readonly answer: AnswerSoFar;
  readonly phase: AnswerPhase;
  readonly error: TurnView["error"];
  /** The tool of a step, or the tool that a planner's answer calls. Only one of kind `effect` can change the user's machine. */
  readonly tool: { readonly name: string; readonly kind: StepKind } | undefined;
}

/** An entry without an answer. `name` is the name of its step. */
export function plainEntry(kind: StepKind, name?: string): Entry {
  const tool = name !== undefined && toolKinds.has(kind) ? { name, kind } : undefined;
  return { kind, id: "", answer: emptyAnswer, phase: "none", error: undefined, tool };
}

const toolKinds: ReadonlySet<StepKind> = new Set(["reading", "effect", "unknown", "memory"]);

/**
 * Replaces the entries from `keep` on with a newly read tail. Undefined when the tail does not fit the entries before it: steps were
 * inserted or removed there.
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
 * The turn's part of the entries: those after its user message (the first at or after `from`), up to the next user message. On
 * a `fresh` trajectory all entries before that message belong to the turn too. `lastAnswer` is the index of its last answer, and
 * `firstOpen` that of its first one that the server does not call whole.
 * `ideTools`: whether the IDE's agent may look things up.
 */
export function viewOf(
  entries: readonly Entry[],
  from: number,
  fresh: boolean,
  ideTools: IdeTools,
): { readonly view: TurnView; readonly lastAnswer: number | undefined; readonly firstOpen: number | undefined } {
  const prompt = entries.findIndex((entry, i) => i >= from && entry.kind === "user");
  if (prompt < 0 && !fresh)
    return { view: { ...emptyView, entries: entries.length }, lastAnswer: undefined, firstOpen: undefined };
  const start = Math.max(prompt, from);
  const next = prompt < 0 ? -1 : entries.findIndex((entry, i) => i > prompt && entry.kind === "user");
  const turn = entries.slice(start, next < 0 ? entries.length : next);
  const lastAt = turn.findLastIndex((entry) => entry.kind === "answer");
  const last = turn[lastAt];
  const after = turn.slice(lastAt + 1);
  const lastMark = after.findLastIndex((entry) => entry.kind === "checkpoint");
  const stops = (entry: Entry) =>
    entry.tool?.kind === "effect" ||
    (entry.kind === "memory" && prompt >= 0) ||
    (ideTools === "stop" && isStrict(entry));
  const parts = partsOf(turn, lastAt);
  const view: TurnView = {
    prompted: prompt >= 0 || last !== undefined,
    answer: joinParts(parts),
    parts,
    phase: last?.phase ?? "none",
    checkpoint: after.some((entry) => entry.kind === "checkpoint"),
    checkpointLast: after.at(-1)?.kind === "checkpoint",
    error: after.findLast((entry) => entry.error !== undefined)?.error ?? last?.error,
    tool: turn.find(stops)?.tool?.name,
    read: [...new Set(turn.filter((entry) => isReading(entry.kind)).flatMap(({ tool }) => tool?.name ?? []))],
    looking:
      after.slice(lastMark + 1).some((entry) => isReading(entry.kind)) || (lastMark < 0 && last?.tool !== undefined),
    called: turn.some((entry) => entry.kind === "answer" && entry.tool !== undefined),
    cut: false,
    overtaken: next >= 0,
    entries: entries.length,
  };
  const openAt = turn.findIndex(({ kind, phase }) => kind === "answer" && !isClosed(phase));
  const at = (index: number) => (index < 0 ? undefined : start + index);
  return { view, lastAnswer: at(lastAt), firstOpen: at(openAt) };
}

/** Whether the server says that an answer is whole. */
function isClosed(phase: AnswerPhase): boolean {
  return phase !== "open" && phase !== "unmarked" && phase !== "followed";
}

function isReading(kind: StepKind): boolean {
  return kind === "reading" || kind === "unknown";
}

/** Whether an entry stops the turn although it only reads: a call of any tool, or a step that is known to read. */
function isStrict({ kind, tool }: Entry): boolean {
  return tool !== undefined && (kind === "answer" || kind === "reading");
}

/** The answers of one turn. One that broke is left out if another one follows it. */
function partsOf(turn: readonly Entry[], lastAt: number): readonly AnswerPart[] {
  const parts: AnswerPart[] = [];
  let afterTool = false;
  for (const [i, { kind, tool, phase, answer, id }] of turn.entries()) {
    afterTool ||= kind !== "answer" && tool !== undefined;
    if (kind !== "answer" || (phase === "broken" && i !== lastAt)) continue;
    parts.push({ key: id === "" ? `#${i}` : id, ...answer, afterTool, closed: isClosed(phase) });
    if (answer.text !== "") afterTool = false;
  }
  return parts;
}
