import type { TurnEventBody } from "../log/event.ts";
import type { Batch } from "./backend.ts";

/** The events of batches, one by one; asks for a batch when the one before is used up. */
export async function* eventsOf(batches: AsyncIterable<Batch>): AsyncGenerator<TurnEventBody, void> {
  for await (const batch of batches) yield* batch;
}
