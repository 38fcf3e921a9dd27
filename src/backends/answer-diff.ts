import type { TurnEventBody } from "../log/event.ts";

/** Text and thinking of an answer: as they were handed on, or as the server shows them now. */
export interface AnswerSoFar {
  readonly text: string;
  readonly thinking: string;
}

export const emptyAnswer: AnswerSoFar = { text: "", thinking: "" };

/**
 * The events that lead from the text passed on before (`sent`) to the server's text (`now`), and the text passed on after them.
 *
 * Text that grew is a delta; any other change is `rewritten`. Text that only became shorter counts as a rewrite only when `settled`:
 * until then it may grow back, as it does when a server restarts or a model begins again. Thinking cannot be taken back. It continues
 * once the server's thinking begins with the part that was sent, and is silent otherwise.
 */
export function answerDiff(
  sent: AnswerSoFar,
  now: AnswerSoFar,
  settled: boolean,
): { readonly events: readonly TurnEventBody[]; readonly sent: AnswerSoFar } {
  const events: TurnEventBody[] = [];
  let { text, thinking } = sent;
  if (now.thinking.length > thinking.length && now.thinking.startsWith(thinking)) {
    events.push({ type: "thinking", delta: copied(now.thinking.slice(thinking.length)) });
    thinking = now.thinking;
  }
  if (now.text.length > text.length && now.text.startsWith(text)) {
    events.push({ type: "text", delta: copied(now.text.slice(text.length)) });
    text = now.text;
  } else if (now.text !== text && (settled || !text.startsWith(now.text))) {
    events.push({ type: "rewritten", text: now.text });
    text = now.text;
  }
  return events.length === 0 ? { events, sent } : { events, sent: { text, thinking } };
}

/** The same text on its own: V8's slice keeps the whole text alive that it was cut from, which each poll brings anew. */
export function copied(slice: string): string {
  return ` ${slice}`.slice(1);
}
