import { MillraceError, toMillraceError } from "../../base/errors.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { RawChatMessage } from "../../proto/windsurf/exa/chat_pb.ts";
import { ChatMessageSource } from "../../proto/windsurf/exa/codeium_common_pb.ts";
import { type AnswerSoFar, answerDiff, emptyAnswer } from "../answer-diff.ts";
import type { Backend, Batch, Prompt, RunOptions } from "../backend.ts";
import { estimatedUsage } from "../turn-usage.ts";

/** The 1.x way: one server stream a turn, no trajectory, nothing to archive, and nothing to come back to. */
export function rawChatBackend(server: LanguageServer): Backend {
  return {
    kind: "raw_chat",
    run: (prompt: Prompt, options: RunOptions, signal: AbortSignal) => runRawChat(server, prompt, options, signal),
    resume: cannotResume,
    archive: () => Promise.resolve(),
  };
}

/** The stream died with the process that read it, and whether its prompt was sent cannot be known. */
async function* cannotResume(): AsyncGenerator<Batch, void> {
  const message =
    "This version of the IDE keeps no record of an answer, so the turn could not continue after the gateway stopped; " +
    "the part that arrived was kept, and the prompt was not sent again.";
  yield [{ type: "failed", error: new MillraceError("upstream_failed", message).toRecord() }];
}

/**
 * One turn as one server stream, each message a batch: the contract of `Backend.run`. The turn ends when the stream does, and closing it, which an
 * abort does, is the only way to cancel. A stream that breaks is not opened again: that would be a second prompt.
 */
async function* runRawChat(
  server: LanguageServer,
  prompt: Prompt,
  { onAlive, onEndsWithGateway }: RunOptions,
  signal: AbortSignal,
): AsyncGenerator<Batch, void> {
  if (signal.aborted) return;
  if (prompt.images.length > 0) {
    const hint = "Leave the images out, or update the IDE.";
    const error = new MillraceError("invalid_request", "This version of the IDE does not accept images.", { hint });
    yield [{ type: "failed", error: error.toRecord() }];
    return;
  }
  const { modelUid, modelNumber, instructions, messages } = prompt;
  const { variant: ide } = server.endpoint;
  yield [{ type: "started", modelUid, backend: "raw_chat", cascadeId: undefined, ide }];
  if (signal.aborted) return;
  let state = startStream;
  try {
    onEndsWithGateway?.(true);
    for await (const message of server.rawChat({ instructions, messages, modelNumber, modelName: modelUid }, signal)) {
      onAlive();
      const followed = followStream(state, message);
      state = followed.state;
      if (followed.events.length > 0) yield followed.events;
    }
    signal.throwIfAborted();
    if (state.last === "") {
      throw new MillraceError("upstream_failed", "The IDE's server ended the stream without an answer.");
    }
    const { text } = state.sent;
    yield [estimatedUsage(prompt, state.sent), { type: "finished", reason: { unified: "stop", raw: undefined }, text }];
  } catch (error) {
    if (signal.aborted) return;
    yield [{ type: "failed", error: toMillraceError(error).toRecord() }];
  }
}

/** The relation between the messages of one stream. `unknown` until the second message with text. */
type Manner = "unknown" | "growing" | "deltas";

export interface RawChatState {
  readonly sent: AnswerSoFar;
  /** Text of the messages before the current one, by message id. */
  readonly earlier: string;
  readonly messageId: string;
  readonly manner: Manner;
  /** The last text as it came, and all texts of this message put together (empty once growth is proven). */
  readonly last: string;
  readonly joined: string;
}

export const startStream: RawChatState = {
  sent: emptyAnswer,
  earlier: "",
  messageId: "",
  manner: "unknown",
  last: "",
  joined: "",
};

/** A text this long that grew is no coincidence any more: from here on a text that does not begin with it was rewritten. */
const provenLength = 24;

/**
 * The events between the known text and one more message of the stream. Pure.
 *
 * A message holds either the answer's text so far or the text since the last message. No field tells which, and builds differ. While
 * each text begins with the one before, the messages are taken as growing. At the first one that does not, all are deltas and are
 * joined (`rewritten`, if something else was shown before; only the first characters can be so, as in "ha", "haha"). A long text that
 * grew is proof. In some builds the last message (`in_progress` false) repeats the whole text: it replaces the text that it begins
 * with. Source: docs/dev/wire/language-server.md, "Raw chat".
 */
export function followStream(
  state: RawChatState,
  message: RawChatMessage,
): { readonly events: readonly TurnEventBody[]; readonly state: RawChatState } {
  const { text, messageId } = message;
  if (message.source === ChatMessageSource.USER || text === "") return { events: [], state };
  const another = messageId !== state.messageId && state.last !== "";
  const from = another ? { ...startStream, sent: state.sent, earlier: state.earlier + textOf(state) } : state;
  const next = { ...take(from, text, message.inProgress), messageId };
  const diff = answerDiff(state.sent, { text: next.earlier + textOf(next), thinking: "" }, true);
  return { events: diff.events, state: { ...next, sent: diff.sent } };
}

function take(state: RawChatState, text: string, inProgress: boolean): RawChatState {
  const { manner, last, joined } = state;
  if (last === "") return { ...state, last: text, joined: text };
  if (manner !== "deltas" && text.startsWith(last)) {
    return { ...state, manner: "growing", last: text, joined: last.length >= provenLength ? "" : joined + text };
  }
  if (manner === "growing" && joined === "") return { ...state, last: text };
  const whole = !inProgress && text.length > 1 && text.startsWith(joined);
  return { ...state, manner: "deltas", last: text, joined: whole ? text : joined + text };
}

function textOf({ manner, last, joined }: RawChatState): string {
  return manner === "deltas" ? joined : last;
}
