import { isMillraceError } from "../../../base/errors.ts";
import type { StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage } from "../../../proto/aiserver/v1/chat_pb.ts";
import type { Attachment, StreamTurns } from "../../../turns/attach/attachment.ts";
import type { AttachAsk } from "../rpc/attach-headers.ts";
import type { Incoming } from "../rpc/incoming.ts";
import { StreamProgress } from "../stream/stream-progress.ts";
import type { AttachPlace } from "./attach-order.ts";

type Streams = Pick<StreamTurns, "attach">;
type Name = AttachAsk["name"];

/** An attach that has come, its place among the attaches of its stream, and its messages. */
interface Arriving {
  readonly name: Name;
  readonly place: AttachPlace;
  readonly incoming: Incoming<ClientMessage>;
}

const never = new AbortController().signal;

/**
 * Decides whether an attach takes its stream over, once the other attaches are known. An attach whose client has left (`signal`) takes
 * it over only to store its unstored messages, and only if no other client is attached. If another client is attached, an abort ends
 * the running turn, or the stream if no turn runs; all its other messages are dropped. Once a later attach has the stream, the
 * messages of this one are overtaken.
 *
 * Throws as looking at the stream does. Source: docs/stream-protocol.md, "Clients that leave at once".
 */
export async function takesOver(
  streams: Streams,
  { name, place, incoming }: Arriving,
  signal: AbortSignal,
): Promise<boolean> {
  if (await livesUntilFree(place, signal)) return true;
  if (!(await incoming.hasAny())) return false;
  const isAlone = await place.untilFree(never);
  if (place.isOvertaken) return false;
  const said = await incoming.all();
  if (!isAlone) {
    if (!said.some(({ request }) => request.case === "abort")) return false;
    if (await endsWhatRuns(streams, name, place)) return false;
  }
  return (await isNews(streams, name, said)) && !place.isOvertaken;
}

async function livesUntilFree(place: AttachPlace, signal: AbortSignal): Promise<boolean> {
  try {
    await place.untilFree(signal);
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}

/** Whether any of the messages is not stored. A client that returns repeats all its unacknowledged messages, maybe to another gateway. */
async function isNews(streams: Streams, name: Name, said: readonly ClientMessage[]): Promise<boolean> {
  const state = new StreamProgress((await observed(streams, name))?.accepted ?? []);
  return said.some(({ seqno, request }) => {
    if (seqno !== undefined) return seqno >= state.accepted;
    return (request.case === "abort" || request.case === "close") && !state.has(request.case);
  });
}

/** Undefined where there is no such stream: the attach itself makes it, or is refused. */
async function observed(streams: Streams, name: Name): Promise<Attachment | undefined> {
  try {
    return await streams.attach(name, "observe");
  } catch (error) {
    if (isMillraceError(error) && error.code === "expired") return undefined;
    throw error;
  }
}

/** Ends the running turn for the attach that has the stream now. False if no turn of the stream runs. */
async function endsWhatRuns(streams: Streams, name: Name, place: AttachPlace): Promise<boolean> {
  const there = await observed(streams, name);
  const last = there?.accepted.findLast(({ turnId }) => turnId !== undefined)?.turnId;
  const turn = last === undefined ? undefined : await there?.get(last);
  if (turn === undefined || turn.ended) return false;
  if (!place.isOvertaken) await there?.cancel(turn.turnId, "client"); // otherwise the turn belongs to a newer attach
  return true;
}
