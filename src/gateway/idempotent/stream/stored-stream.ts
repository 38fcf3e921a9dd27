import { MillraceError } from "../../../base/errors.ts";
import { startOfLog } from "../../../base/ids.ts";
import type { StreamReading } from "../../../turns/attach/attachment.ts";
import { refusal } from "../../dialects/idempotent/errors.ts";
import { beforeFirst } from "../../dialects/idempotent/event-id.ts";
import type { AttachAsk } from "../rpc/attach-headers.ts";
import { waitsForResults } from "./read-answer.ts";
import { streamEncoder } from "./stream-encoder.ts";
import type { StreamProgress } from "./stream-progress.ts";

/** A stream as its logs hold it at an attach. */
export interface StoredStream {
  readonly tailEventId: string;
  /** The digest at the cursor. */
  readonly chainHead: Uint8Array;
  readonly ended: boolean;
  /** When the first of its ended turns is no longer kept, epoch ms; `Infinity` where none has ended. */
  readonly expiresAtMs: number;
}

/**
 * Reads all that a stream's logs hold now, and checks the cursor against it before anything is sent. Source:
 * docs/wire/idempotent-streams.md, "Rules that follow".
 *
 * @throws MillraceError `expired` when part of it is no longer kept, and with reason `diverged` for a cursor that is not in it, or
 * whose digest differs.
 */
export async function readStored(
  reading: StreamReading,
  state: StreamProgress,
  ask: Pick<AttachAsk, "cursor" | "chain">,
  signal: AbortSignal,
): Promise<StoredStream> {
  const encoder = streamEncoder(state);
  let chainHead = ask.cursor === beforeFirst ? encoder.tail.chain : undefined;
  let expiresAtMs = Number.POSITIVE_INFINITY;
  const note = ({ eventId }: { readonly eventId: string }, chain: Uint8Array) => {
    if (eventId === ask.cursor) chainHead = chain;
  };
  let lastEnded = true;
  for (const turnId of state.turns) {
    const record = await reading.get(turnId);
    if (record === undefined) throw new MillraceError("expired", "This stream is no longer kept.");
    if (record.ended) expiresAtMs = Math.min(expiresAtMs, record.expiresAtMs);
    encoder.begin();
    lastEnded = false;
    if (record.lastEventId === startOfLog) continue;
    for await (const event of reading.follow(turnId, startOfLog, signal)) {
      encoder.push(event, note);
      if (event.eventId >= record.lastEventId) break; // what comes after that comes live
    }
    lastEnded = encoder.turnEnd !== undefined;
  }
  if (encoder.ended === undefined && lastEnded) {
    const waits = state.turns.length === 0 || waitsForResults(encoder.turnEnd);
    const how = waits ? state.endAfter(encoder.blocks) : undefined;
    if (how !== undefined) encoder.end(how, note);
  }
  if (chainHead === undefined || !isSame(ask.chain, chainHead)) throw diverged();
  return { tailEventId: encoder.tail.eventId, chainHead, ended: encoder.ended !== undefined, expiresAtMs };
}

function isSame(claimed: Uint8Array | undefined, chain: Uint8Array): boolean {
  return claimed === undefined || Buffer.from(claimed).equals(chain);
}

function diverged(): MillraceError {
  const message = "The cursor is not in this stream's log, or the log before it is another one.";
  return refusal("invalid_request", "diverged", message, {
    hint: "The client or the gateway went back to an older copy of its data. Start a new stream.",
  });
}
