import type { Clock } from "../../base/clock.ts";
import type {
  StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
  WelcomeMessage,
} from "../../proto/aiserver/v1/chat_pb.ts";
import { fromBase64, toBase64, toBase64Url } from "../encoding.ts";
import { untilSilent } from "../link/until-silent.ts";
import { attachMark, type StreamState, type Welcome } from "../stream/stream-state.ts";
import type { Attach, Tier } from "./tier.ts";

/** How long silence is borne, apart from any retry budget: a connection's, before it is taken for dead, and an address's; ms. */
export interface Patience {
  /** Until the welcome, which the gateway sends at once. */
  readonly welcomeMs: number;
  /** Between two messages; the gateway sends one at least every 15 s. */
  readonly stallMs: number;
  /**
   * The maximum time to reach a gateway over a link that never reached one: most likely none runs there. Node and Bun only, because a
   * browser does not report that a connection was refused.
   */
  readonly reachMs: number;
}

export const defaultPatience: Patience = { welcomeMs: 6000, stallMs: 45_000, reachMs: 30_000 };

/** How long a call may take to end once its stream has; ms. A call that ends on the server's side leaves its connection clean. */
const lastWordsMs = 1000;

interface AttachPorts {
  readonly clock: Clock;
  readonly patience: Patience;
  /** Whether the stream's end was received. */
  readonly isOver: () => boolean;
}

/** The headers of an attach. Source: docs/stream-protocol.md, "Headers of an attach". */
export function attachHeaders(state: StreamState, grace: string | undefined): Readonly<Record<string, string>> {
  const { record, ticket } = state;
  const { eventId, chain } = attachMark(state);
  return {
    "x-idempotency-key": record.streamKey,
    "x-idempotency-event-id": eventId,
    "x-idempotent-encryption-key": record.encryptionKey,
    "x-millrace-intent": record.created ? "resume" : "create",
    ...(chain === "" ? {} : { "x-millrace-chain": toBase64Url(fromBase64(chain)) }),
    ...(ticket === undefined ? {} : { "x-millrace-ticket": toBase64Url(fromBase64(ticket)) }),
    ...(grace === undefined ? {} : { "x-millrace-grace": grace }),
  };
}

/** A call failed; `cause` has the details. Separates failures of a connection from failures on this side. */
export class AttachFailure extends Error {
  override readonly name = "AttachFailure";
}

/**
 * One attach: the server's messages, until it ends. Throws `AttachFailure`; its cause is the call's error, or `Silence` when the
 * welcome or a later message did not come in time.
 */
export async function* openAttach(
  tier: Tier,
  attach: Attach,
  { clock, patience, isOver }: AttachPorts,
  signal: AbortSignal,
): AsyncGenerator<ServerMessage, void> {
  const stop = new AbortController();
  const incoming = tier.attach(attach, AbortSignal.any([signal, stop.signal]));
  let isWelcomed = false;
  const allowedMs = () => (isOver() ? lastWordsMs : isWelcomed ? patience.stallMs : patience.welcomeMs);
  try {
    for await (const message of untilSilent(incoming, allowedMs, clock, stop)) {
      isWelcomed ||= message.response.case === "welcomeMessage";
      yield message;
    }
  } catch (error) {
    throw new AttachFailure("the call failed", { cause: error });
  }
}

/** The parts of a welcome that the algorithm needs. An original server sends no facts. */
export function welcomeOf({ isDegradedMode, facts }: WelcomeMessage): Welcome {
  return {
    degraded: isDegradedMode,
    epoch: facts?.epoch,
    tailEventId: facts?.tailEventId,
    highestSeqno: facts?.highestSeqno,
    chainHead: facts === undefined ? undefined : toBase64(facts.chainHead),
    ticket: facts === undefined || facts.nextTicket.length === 0 ? undefined : toBase64(facts.nextTicket),
    expiresAtMs: facts === undefined ? undefined : Number(facts.expiresAtUnixMs),
    serverNowMs: facts === undefined ? undefined : Number(facts.serverNowUnixMs),
  };
}
