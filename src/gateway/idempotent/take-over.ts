import type { StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage } from "../../proto/aiserver/v1/chat_pb.ts";
import type { StreamTurns } from "../../turns/attachment.ts";
import type { AttachAsk } from "./attach-headers.ts";
import type { Place } from "./attach-order.ts";
import type { Incoming } from "./incoming.ts";

const never = new AbortController().signal;

/**
 * Whether an attach takes its stream over, once it is known who of the others is there. One whose client has left (`signal`) does so
 * only for what it brought, and only where nobody else is: elsewhere an abort ends what runs and takes nothing over, and all the rest is
 * nothing. What it brought before a later attach had the stream is overtaken. Source: docs/stream-protocol.md, "Who leaves at once".
 */
export async function takesOver(
  streams: Pick<StreamTurns, "attach">,
  { name }: Pick<AttachAsk, "name">,
  place: Place,
  incoming: Incoming<ClientMessage>,
  signal: AbortSignal,
): Promise<boolean> {
  if (await livesUntilFree(place, signal)) return true;
  if (!(await incoming.hasAny())) return false;
  const isAlone = await place.untilFree(never);
  if (place.isOvertaken) return false;
  if (!isAlone && (await hasAbort(incoming))) await endWhatRuns(streams, name, place);
  return isAlone;
}

async function livesUntilFree(place: Place, signal: AbortSignal): Promise<boolean> {
  try {
    await place.untilFree(signal);
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}

async function hasAbort(incoming: Incoming<ClientMessage>): Promise<boolean> {
  for await (const { request } of incoming) if (request.case === "abort") return true;
  return false;
}

/** In the name of whoever has the stream now: nothing happens where that is somebody who came later. */
async function endWhatRuns(streams: Pick<StreamTurns, "attach">, name: AttachAsk["name"], place: Place): Promise<void> {
  const there = await streams.attach(name, "observe");
  const running = there.accepted.findLast(({ turnId }) => turnId !== undefined)?.turnId;
  if (running !== undefined && !place.isOvertaken) await there.cancel(running, "client");
}
