import type { TurnEventBody } from "../../log/event.ts";
import { type AnswerSoFar, copied } from "../answer-diff.ts";

/** One answer of a turn. A turn has several where the agent used tools, and each of them may still grow. */
export interface AnswerPart extends AnswerSoFar {
  /** Names it among the turn's answers. A server that inserts an answer may rename the later ones. */
  readonly key: string;
  /** The agent used a tool between the answer before and this one. */
  readonly afterTool: boolean;
  /** The server says that it is whole. */
  readonly closed: boolean;
}

/** What a stream has of a turn's answers. Text that was sent stays where it is: it cannot be taken back. */
export interface SentAnswer extends AnswerSoFar {
  /** What it has of each answer, in the order in which they began; the last one is being sent. */
  readonly parts: readonly Pick<AnswerPart, "key" | "text" | "thinking">[];
  /** Monotonic ms of the last growth. */
  readonly grewAtMs: number;
  /** Another answer waits until the one that is being sent is quiet. */
  readonly holds: boolean;
}

/** `flush`: the turn is over, so nothing waits. `settled`: it ended well, so the text as it stands is final. */
export interface PartsMoment {
  readonly atMs: number;
  readonly flush: boolean;
  readonly settled: boolean;
}

/** An answer that the server does not call whole is taken for whole after this pause, if another one has text; ms. */
const quietMs = 200;

export function sentBefore({ text, thinking }: AnswerSoFar): SentAnswer {
  return { text, thinking, parts: [], grewAtMs: Number.NEGATIVE_INFINITY, holds: false };
}

/** All answers in the order of the trajectory. Two without a tool between them are one text that the server cut. */
export function joinParts(parts: readonly AnswerPart[]): AnswerSoFar {
  let text = "";
  for (const part of parts) if (part.text !== "") text += gapBefore(part, text) + part.text;
  return { text, thinking: parts.flatMap(({ thinking }) => (thinking === "" ? [] : thinking)).join("\n\n") };
}

/**
 * The events that lead from the text passed on before to the answers as the server shows them now.
 *
 * One answer is sent at a time, from its beginning to its end. An answer that appears or grows later, before or behind it, follows it
 * after an empty line. So each word is sent once, although the order may differ from the trajectory's; `rewritten` with `moved` tells
 * the right order at the end. Only a text that the server changed is `rewritten` otherwise. A text that became shorter may grow back,
 * so it counts as changed only when `settled`. Thinking cannot be taken back; it continues where its beginning is as it was sent.
 *
 * Source: docs/dev/wire/cascade.md, "Several answers in one turn".
 */
export function sendParts(
  before: SentAnswer,
  parts: readonly AnswerPart[],
  moment: PartsMoment,
): { readonly events: readonly TurnEventBody[]; readonly sent: SentAnswer } {
  const { text: wanted } = joinParts(parts);
  const isUndivided = before.parts.length === 0 && (before.text !== "" || before.thinking !== "");
  const sent = isUndivided ? distributed(before, parts) : renamed(before, parts);
  if (sent === undefined) {
    if (wanted === before.text || !(moment.settled || !before.text.startsWith(wanted)))
      return { events: [], sent: before };
    const thought = sendThinking(before, parts);
    const all = parts.map(({ key, text, thinking }) => ({ key, text, thinking }));
    const now = { ...thought.sent, text: wanted, parts: all, grewAtMs: moment.atMs, holds: false };
    return { events: [...thought.events, { type: "rewritten", text: wanted }], sent: now };
  }
  const thought = sendThinking(sent, parts);
  const spoken = sendText(thought.sent, parts, moment);
  const isMoved = moment.settled && spoken.sent.text !== wanted;
  const moved: readonly TurnEventBody[] = isMoved ? [{ type: "rewritten", text: wanted, moved: true }] : [];
  const events = [...thought.events, ...spoken.events, ...moved];
  return { events, sent: isMoved ? { ...spoken.sent, text: wanted } : spoken.sent };
}

function gapBefore({ afterTool }: AnswerPart, before: string): string {
  return afterTool && before !== "" ? "\n\n" : "";
}

/** What was sent of each answer, where only the whole text is known: of a turn that another process began. */
function distributed(before: SentAnswer, parts: readonly AnswerPart[]): SentAnswer | undefined {
  const { text } = joinParts(parts);
  if (!text.startsWith(before.text)) return undefined;
  const known: SentAnswer["parts"][number][] = [];
  let at = 0;
  let thoughtAt = 0;
  for (const part of parts) {
    if (part.text !== "" && at < before.text.length) at += gapBefore(part, before.text.slice(0, at)).length;
    const sent = before.text.slice(at, at + part.text.length);
    if (part.thinking !== "" && thoughtAt > 0) thoughtAt += 2;
    const thought = before.thinking.slice(thoughtAt, thoughtAt + part.thinking.length);
    at += sent.length;
    thoughtAt += thought.length;
    known.push({ key: part.key, text: sent, thinking: thought });
  }
  return { ...before, parts: known };
}

/** The same under the names that the answers have now; undefined if a text that was sent is not there any more. */
function renamed(before: SentAnswer, parts: readonly AnswerPart[]): SentAnswer | undefined {
  if (before.parts.every(({ key, text }) => parts.some((part) => part.key === key && part.text.startsWith(text)))) {
    return before;
  }
  const free = new Set(parts);
  const known: SentAnswer["parts"][number][] = [];
  for (const one of before.parts) {
    const fits = [...free].filter(({ text }) => text.startsWith(one.text));
    const found = fits.find(({ key }) => key === one.key) ?? fits[0];
    if (found === undefined) return undefined;
    free.delete(found);
    known.push({ ...one, key: found.key });
  }
  return { ...before, parts: known };
}

function sendText(
  before: SentAnswer,
  parts: readonly AnswerPart[],
  { atMs, flush }: PartsMoment,
): { readonly events: readonly TurnEventBody[]; readonly sent: SentAnswer } {
  const known = [...before.parts];
  let delta = "";
  let holds = false;
  for (;;) {
    const currentAt = known.findLastIndex(({ text }) => text !== "");
    const current = known[currentAt];
    const speaking = parts.find(({ key }) => key === current?.key);
    if (current !== undefined && speaking !== undefined && speaking.text.length > current.text.length) {
      delta += speaking.text.slice(current.text.length);
      known[currentAt] = { ...current, text: speaking.text };
    }
    const next = parts.find((part) => part.text.length > (known.find(({ key }) => key === part.key)?.text.length ?? 0));
    if (next === undefined) break;
    const isQuiet = delta === "" && atMs - before.grewAtMs >= quietMs;
    if (speaking !== undefined && !speaking.closed && !flush && !isQuiet) {
      holds = true;
      break;
    }
    const at = known.findIndex(({ key }) => key === next.key);
    const [begun] = at < 0 ? [] : known.splice(at, 1);
    const had = begun?.text ?? "";
    const inOrder = had === "" && known.every(({ key, text }) => text === "" || isBefore(parts, key, next.key));
    delta += inOrder ? gapBefore(next, before.text + delta) : "\n\n";
    delta += next.text.slice(had.length);
    known.push({ key: next.key, text: next.text, thinking: begun?.thinking ?? "" });
  }
  if (delta === "") return { events: [], sent: { ...before, parts: known, holds } };
  const sent = { ...before, text: before.text + delta, parts: known, grewAtMs: atMs, holds };
  return { events: [{ type: "text", delta: copied(delta) }], sent };
}

function isBefore(parts: readonly AnswerPart[], key: string, other: string): boolean {
  return parts.findIndex((part) => part.key === key) < parts.findIndex((part) => part.key === other);
}

function sendThinking(
  before: SentAnswer,
  parts: readonly AnswerPart[],
): { readonly events: readonly TurnEventBody[]; readonly sent: SentAnswer } {
  let delta = "";
  const known = [...before.parts];
  for (const { key, thinking } of parts) {
    const at = known.findIndex((part) => part.key === key);
    const had = known[at]?.thinking ?? "";
    if (thinking.length <= had.length || !thinking.startsWith(had)) continue;
    const isNext = had === "" || known.findLast((part) => part.thinking !== "")?.key === key;
    const gap = (had === "" || !isNext) && before.thinking + delta !== "" ? "\n\n" : "";
    delta += gap + thinking.slice(had.length);
    if (at < 0) known.unshift({ key, text: "", thinking });
    else known[at] = { key, text: known[at]?.text ?? "", thinking };
  }
  if (delta === "") return { events: [], sent: before };
  const sent = { ...before, thinking: before.thinking + delta, parts: known };
  return { events: [{ type: "thinking", delta: copied(delta) }], sent };
}
