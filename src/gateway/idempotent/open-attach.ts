import type { TurnId } from "../../base/ids.ts";
import type { Attachment, StreamTurns } from "../../turns/attachment.ts";
import type { StartedTurn } from "../../turns/turns.ts";
import { eventIn } from "../dialects/idempotent/event-id.ts";
import type { RpcParts } from "../rpc-handler.ts";
import type { AttachAsk } from "./attach-headers.ts";
import type { AttachOrder } from "./attach-order.ts";
import type { Quotas } from "./quotas.ts";
import { readStored, type StoredStream } from "./stored-stream.ts";
import { StreamSession } from "./stream-session.ts";
import { StreamState } from "./stream-state.ts";

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
  readonly state: StreamState;
  readonly stored: StoredStream;
  readonly session: StreamSession;
  readonly turnId: TurnId | undefined;
  /** Ends the attach: nothing is watched or counted any more. The turns go on. */
  close(): void;
}

/**
 * Attaches to the stream that the headers name.
 *
 * @throws MillraceError `rate_limited` for a caller with too many of them, `cancelled` where a later attach of the same client
 * has come, `expired` for a stream that is unknown, gone or under another key, `diverged` as `readStored` says.
 */
export async function openAttach(
  parts: StreamParts,
  ask: AttachAsk,
  options: { readonly waitsForGaps: boolean },
  signal: AbortSignal,
): Promise<OpenAttach> {
  signal.throwIfAborted();
  const leaveQuota = parts.quotas.attach(ask.name.caller);
  let leaveOrder: (() => void) | undefined;
  let attachment: Attachment | undefined;
  const close = () => {
    leaveQuota();
    leaveOrder?.();
    attachment?.close();
  };
  try {
    if (ask.intent !== "observe") leaveOrder = await parts.order.enter(ask.name, ask.number?.life, signal);
    attachment = await parts.streams.attach(ask.name, ask.intent, ask.ticket, ask.number);
    const state = new StreamState(attachment.accepted);
    const stored = await readStored(attachment, state, ask, signal);
    noteReturn(parts, ask, state);
    const { models, quotas, metrics } = parts;
    const keep = (bytes: number) => quotas.keep(ask.name.caller, bytes);
    const onTurn = ({ joined, degraded }: StartedTurn) => metrics.turn("idempotent", joined, degraded);
    const session = new StreamSession({ attachment, state, ask, models, keep, onTurn, ...options });
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
  { turns }: StreamState,
): void {
  const turnId = turns.at(-1);
  if (turnId === undefined || intent === "observe") return;
  meter?.recordResumption({ turnId, atMs: clock.now(), how: "cursor", after: eventIn(turns.length, cursor), client });
}
