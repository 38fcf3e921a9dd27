import type { TurnId } from "../../base/ids.ts";
import type { Attachment, StreamTurns } from "../../turns/attachment.ts";
import type { RpcParts } from "../rpc-handler.ts";
import type { AttachAsk } from "./attach-headers.ts";
import { readStored, type StoredStream } from "./stored-stream.ts";
import { StreamSession } from "./stream-session.ts";
import { StreamState } from "./stream-state.ts";

/** The parts that every attach shares. */
export interface StreamParts extends RpcParts {
  readonly streams: Pick<StreamTurns, "attach">;
}

/** An attach whose cursor was found in the log: nothing was sent yet. */
export interface OpenAttach {
  readonly ask: AttachAsk;
  readonly attachment: Attachment;
  readonly state: StreamState;
  readonly stored: StoredStream;
  readonly session: StreamSession;
  readonly turnId: TurnId | undefined;
}

/**
 * Attaches to the stream that the headers name.
 *
 * @throws MillraceError `expired` for a stream that is unknown, gone or under another key, `diverged` as `readStored` says.
 */
export async function openAttach(
  parts: StreamParts,
  ask: AttachAsk,
  options: { readonly waitsForGaps: boolean },
  signal: AbortSignal,
): Promise<OpenAttach> {
  const attachment = await parts.streams.attach(ask.name, ask.intent === "create" ? "create" : "resume");
  try {
    const state = new StreamState(attachment.accepted);
    const stored = await readStored(attachment, state, ask, signal);
    const { turns, models } = parts;
    const session = new StreamSession({ attachment, state, ask, turns, models, ...options });
    return { ask, attachment, state, stored, session, turnId: state.turns.at(-1) };
  } catch (error) {
    attachment.close();
    throw error;
  }
}
