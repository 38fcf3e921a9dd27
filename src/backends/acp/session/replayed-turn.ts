import type { JsonObject } from "../../../base/json.ts";
import { UpdateReader } from "../updates.ts";

/** One turn, as a stored session shows it. */
export interface ReplayedTurn {
  /** User messages in the session, all turns together. */
  readonly userMessages: number;
  /** Our user message is in it: the prompt was accepted. */
  readonly accepted: boolean;
  /** Everything after that message. */
  readonly reader: UpdateReader;
}

/**
 * Reads the replay of `session/load` for the turn whose user message has the place `fromStep` (0-based). Chunks of one user
 * message share its id; where an agent gives no ids, neighbours are one message.
 */
export function readReplay(replay: readonly JsonObject[], fromStep: number): ReplayedTurn {
  const reader = new UpdateReader();
  let userMessages = 0;
  let inUserMessage = false;
  let messageId: unknown;
  for (const update of replay) {
    if (update["sessionUpdate"] === "user_message_chunk") {
      const id = update["messageId"];
      if (!inUserMessage || id !== messageId) userMessages++;
      inUserMessage = true;
      messageId = id;
      continue;
    }
    if (belongsToTheAgent(update)) inUserMessage = false;
    if (userMessages !== fromStep + 1) continue;
    if (update["sessionUpdate"] === "agent_stopped") reader.readStopped(update);
    else reader.read(update);
  }
  return { userMessages, accepted: userMessages > fromStep, reader };
}

/** The session's updates about itself, which may come anywhere between messages. */
function belongsToTheAgent({ sessionUpdate }: JsonObject): boolean {
  return typeof sessionUpdate === "string" && /^(?:agent_|tool_call|plan)/.test(sessionUpdate);
}
