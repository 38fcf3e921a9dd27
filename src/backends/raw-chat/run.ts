import { MillraceError, toMillraceError } from "../../base/errors.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import type { Backend, Batch, Prompt, RunOptions } from "../backend.ts";
import { estimatedUsage } from "../turn-usage.ts";
import { followStream, startStream } from "./stream-follower.ts";

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
export async function* runRawChat(
  server: LanguageServer,
  prompt: Prompt,
  { onAlive, beforePrompt, onEndsWithGateway }: RunOptions,
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
    await beforePrompt?.(signal);
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
