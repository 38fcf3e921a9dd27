import type { StreamUnifiedChatResponseWithTools as ServerChunk } from "../../proto/aiserver/v1/chat_pb.ts";
import { nextChain } from "../chain.ts";
import { isAfter, type Mark, startMark } from "../records/record.ts";
import { eventKind } from "./stream-event.ts";
import type { Welcome } from "./stream-state.ts";

/** How far an observer has read: always from the first event, so that the whole log is proved. */
export interface Observed extends Mark {
  /** The gateway's count of the owner's attaches, which never goes back. */
  readonly epoch: number;
}

export const nothingObserved: Observed = { ...startMark, epoch: 0 };

/** The present stream is not the one that was read before; the message names the evidence. */
export class Diverged extends Error {
  override readonly name = "Diverged";
}

/** Checks a welcome of the same stream. `floor`: the part that the application has read before. Throws `Diverged`. */
export function observeWelcome(before: Observed, welcome: Welcome, floor: string): Observed {
  const { epoch = before.epoch, tailEventId, chainHead = before.chain } = welcome;
  const read = isAfter(floor, before.eventId) ? floor : before.eventId;
  if (tailEventId !== undefined && isAfter(read, tailEventId))
    throw new Diverged("the gateway's log ends before what was read from it");
  if (epoch < before.epoch) throw new Diverged("the gateway counts fewer connections than there were");
  if (chainHead !== before.chain) throw new Diverged("the gateway's log is not the one that was read before");
  return { ...before, epoch };
}

/** The next event of the log; an end is proved by its count and its digest. Throws `Diverged`. */
export async function observeEvent(before: Observed, chunk: ServerChunk): Promise<Observed> {
  const { eventId, chain, count } = before;
  if (!isAfter(chunk.eventId, eventId)) throw new Diverged("the gateway sent an event twice or out of order");
  const event = eventKind(chunk);
  if (event.kind === "end" && (event.chainBefore !== chain || event.countBefore !== count))
    throw new Diverged("the end of the stream does not belong to the events that were received");
  return { ...before, eventId: chunk.eventId, chain: await nextChain(chain, chunk), count: count + 1 };
}
