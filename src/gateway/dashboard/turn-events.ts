import type { ErrorRecord } from "../../base/errors.ts";
import { type EventId, startOfLog, type TurnId } from "../../base/ids.ts";
import { isTerminal, type TurnEvent } from "../../log/event.ts";
import { EventChain } from "../../log/event-chain.ts";
import type { Turns } from "../../turns/turns.ts";
import type { Encoder, WireEvent } from "../dialects/dialect.ts";

/**
 * The log's events as they are. The terminal one says besides how many were before it (`eventCount`), and their digest
 * (`chainDigest`, see `EventChain`; each event's text is its `data`). `before` is over the events up to where it begins.
 */
export function turnEventsEncoder(before: EventChain): Encoder {
  return {
    open: () => [],
    encode(event: TurnEvent): readonly WireEvent[] {
      const proof = isTerminal(event) ? { eventCount: before.count, chainDigest: before.digest } : {};
      const data = JSON.stringify({ ...event, ...proof });
      before.push(data);
      return [{ name: event.type, data }];
    },
    heartbeat: () => [{ name: "alive", data: "{}" }],
    broken: (error: ErrorRecord) => [{ name: "error", data: JSON.stringify(error) }],
  };
}

/** The chain over the events up to and including the cursor's. Throws as reading them does. */
export async function chainUpTo(
  turns: Pick<Turns, "follow">,
  turnId: TurnId,
  cursor: EventId,
  signal: AbortSignal,
): Promise<EventChain> {
  const chain = new EventChain();
  if (cursor === startOfLog) return chain;
  const encoder = turnEventsEncoder(chain);
  for await (const event of turns.follow(turnId, startOfLog, signal)) {
    encoder.encode(event);
    if (event.eventId >= cursor) break;
  }
  return chain;
}
