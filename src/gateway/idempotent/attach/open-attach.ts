import type { TurnId } from "../../../base/ids.ts";
import type { StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage } from "../../../proto/aiserver/v1/chat_pb.ts";
import type { Attachment, StreamTurns } from "../../../turns/attach/attachment.ts";
import type { StartedTurn } from "../../../turns/turns.ts";
import { eventIn } from "../../dialects/idempotent/event-id.ts";
import type { RpcParts } from "../../http/rpc-handler.ts";
import type { AttachAsk } from "../rpc/attach-headers.ts";
import type { Incoming } from "../rpc/incoming.ts";
import type { Quotas } from "../stream/quotas.ts";
import { readStored, type StoredStream } from "../stream/stored-stream.ts";
import { StreamProgress } from "../stream/stream-progress.ts";
import { StreamSession } from "../stream/stream-session.ts";
import type { AttachOrder } from "./attach-order.ts";
import { takesOver } from "./take-over.ts";

/** The parts that every attach shares. */
export interface StreamParts extends RpcParts {
  readonly streams: Pick<StreamTurns, "attach">;
  readonly quotas: Quotas;
  readonly order: AttachOrder;
}

/** An attach whose cursor was found in the log: nothing was sent yet. */
export interface OpenAttach {
  readonly ask: AttachAsk;
  readonly attachment: Attachment;
  readonly state: StreamProgress;
  readonly stored: StoredStream;
  readonly session: StreamSession;
  readonly turnId: TurnId | undefined;
  /** Ends the attach: nothing is watched or counted any more. The turns continue. */
  close(): void;
}

/** The parts of a call that an attach uses. */
export interface AttachCall {
  readonly incoming: Incoming<ClientMessage>;
  /** On tiers 2 and 3, whose messages may come in any order. */
  readonly waitsForGaps: boolean;
  /** Aborts when the client has left. */
  readonly signal: AbortSignal;
}

/**
 * Attaches to the stream that the headers name. Returns undefined and takes nothing over if the client has left and its messages do
 * not need the stream (`takesOver`). `stopping` aborts when the gateway stops.
 *
 * @throws MillraceError `rate_limited` for a caller with too many attaches, `cancelled` if a later attach of the same client has
 * come, `expired` for a stream that is unknown, gone or under another key, and what `readStored` throws.
 */
export async function openAttach(
  parts: StreamParts,
  ask: AttachAsk,
  { incoming, waitsForGaps, signal }: AttachCall,
  stopping: AbortSignal,
): Promise<OpenAttach | undefined> {
  const { streams, quotas, order, models, metrics } = parts;
  const { caller } = ask.name;
  const leaveQuota = quotas.attach(caller);
  const place = ask.intent === "observe" ? undefined : order.come(ask.name, ask.number?.life);
  let attachment: Attachment | undefined;
  const left = () => {
    place?.letPass(); // later attaches need not wait for a client that left
    leaveQuota();
  };
  const close = () => {
    signal.removeEventListener("abort", left);
    leaveQuota();
    place?.close();
    attachment?.close();
  };
  signal.addEventListener("abort", left, { once: true });
  if (signal.aborted) left();
  try {
    if (place !== undefined && !(await takesOver(streams, { name: ask.name, place, incoming }, signal))) {
      close();
      return undefined;
    }
    place?.take();
    attachment = await streams.attach(ask.name, ask.intent, ask);
    const state = new StreamProgress(attachment.accepted);
    const stored = await readStored(attachment, state, ask, stopping);
    noteReturn(parts, ask, state);
    const keep = (bytes: number) => quotas.keep(caller, bytes);
    const onTurn = ({ joined, degraded }: StartedTurn) => metrics.turn("idempotent", joined, degraded);
    const session = new StreamSession({ attachment, state, ask, models, keep, onTurn, waitsForGaps });
    return { ask, attachment, state, stored, session, turnId: state.turns.at(-1), close };
  } catch (error) {
    close();
    throw error;
  }
}

/** For the page of the turn that runs or ran last: who came back to it, and from where in it. */
function noteReturn(
  { meter, clock }: StreamParts,
  { intent, cursor, client }: AttachAsk,
  { turns }: StreamProgress,
): void {
  const turnId = turns.at(-1);
  if (turnId === undefined || intent === "observe") return;
  meter?.recordResumption({ turnId, atMs: clock.now(), how: "cursor", after: eventIn(turns.length, cursor), client });
}
