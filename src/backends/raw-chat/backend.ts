import { MillraceError } from "../../base/errors.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import type { Backend, Batch, Prompt, RunOptions } from "../backend.ts";
import { runRawChat } from "./run.ts";

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
