import type { JsonObject } from "../../../base/json.ts";
import { devinMethods, type SessionReader } from "../process/session-router.ts";
import { isWork, UpdateReader } from "./updates.ts";

/** The updates that an agent sends of a session while it loads it, in order. */
export class SessionReplay implements SessionReader {
  readonly updates: JsonObject[] = [];

  update(update: JsonObject): void {
    this.updates.push(update);
  }

  vendor(method: string, params: JsonObject): void {
    if (method === devinMethods.stopped) this.updates.push({ ...params, sessionUpdate: "agent_stopped" });
  }

  permission(): boolean {
    return false;
  }

  ask(): void {}
}

/**
 * Reads the replay of `session/load` for the turn whose user message has the place `fromStep` (0-based); `before` as in `TurnPrompt`. Chunks of one user
 * message share its id; where an agent gives no ids, neighbours are one message.
 */
export function readReplay(replay: readonly JsonObject[], fromStep: number, before = 0) {
  const reader = new UpdateReader();
  let userMessages = before;
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
    if (isWork(update)) inUserMessage = false;
    if (userMessages !== fromStep + 1) continue;
    if (update["sessionUpdate"] === "agent_stopped") reader.readStopped(update);
    else reader.read(update);
  }
  return { userMessages, accepted: userMessages > fromStep, reader };
}
