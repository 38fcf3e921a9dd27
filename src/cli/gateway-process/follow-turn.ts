import { z } from "zod";
import type { Clock } from "../../base/clock.ts";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import { waitBefore } from "../../client/link/backoff.ts";
import { untilSilent } from "../../client/link/until-silent.ts";
import { EventChain } from "../../gateway/dashboard/turn-events.ts";
import { isTerminal, type TurnEvent } from "../../log/event.ts";
import { callGateway, type GatewayClient, messagesOf } from "./gateway-client.ts";

export interface FollowPorts {
  /** Finds the gateway again: it may have a new address after a restart. */
  readonly find: (signal: AbortSignal) => Promise<GatewayClient | undefined>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called once when the gateway is away, and once when it is back. */
  readonly onAway: (isAway: boolean) => void;
}

/** A quarter of an hour at most. */
const backoff = { baseMs: 250, capMs: 15_000, budget: 120 };
/** The gateway says something at least every 15 s as long as the model's server lives; a reconnect costs one request. */
const stallMs = 60_000;

const eventSchema = z.looseObject({ type: z.string(), eventId: z.string(), atMs: z.number() });
const proofSchema = z.object({ eventCount: z.number(), chainDigest: z.string() });

/**
 * Every event of a turn after the cursor, to its end, over any number of connections, each event once. It does not keep the
 * turn alive. Throws the gateway's refusal, `upstream_failed` when the gateway does not come back, and `internal` if the end does
 * not fit the events before it, which it can check if it read from the start.
 */
export async function* followTurn(
  turnId: string,
  after: string,
  { find, clock, random, onAway }: FollowPorts,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, void> {
  let cursor = after;
  const chain = after === startOfLog ? new EventChain() : undefined;
  let fruitless = 0;
  let isAway = false;
  for (;;) {
    try {
      for await (const { event, data } of followOnce(await find(signal), { turnId, cursor }, clock, signal)) {
        if (isAway) onAway(false);
        isAway = false;
        fruitless = 0;
        if (chain !== undefined && isTerminal(event)) checkEnd(event, chain);
        yield event;
        chain?.push(data);
        cursor = event.eventId;
        if (isTerminal(event)) return;
      }
      return; // it has nothing more: the cursor was the end
    } catch (error) {
      if (signal.aborted || !(error instanceof TurnLoss)) throw error;
      fruitless++;
      const waitMs = waitBefore(fruitless, backoff, random);
      if (waitMs === undefined) throw error.cause;
      if (fruitless === 2 && !isAway) {
        isAway = true;
        onAway(true);
      }
      await clock.sleep(waitMs, signal);
    }
  }
}

/** Throws where events are missing, were changed or came twice. */
function checkEnd(end: TurnEvent, { count, digest }: EventChain): void {
  const { data: proof } = proofSchema.safeParse(end);
  if (proof === undefined) return; // an older gateway says nothing of it
  if (proof.eventCount === count && proof.chainDigest === digest) return;
  throw new MillraceError("internal", "The text that arrived differs from the text that the gateway has stored.", {
    hint: "Run the command again. It then reads the turn from its start.",
  });
}

/** The connection is gone, and another one may bring the rest. */
class TurnLoss extends Error {
  override readonly name = "TurnLoss";
}

function lost(cause: unknown): TurnLoss {
  return new TurnLoss("the connection to the gateway is gone", { cause });
}

/** One connection. Returns only when the gateway reports the end; throws `TurnLoss` otherwise. */
async function* followOnce(
  gateway: GatewayClient | undefined,
  { turnId, cursor }: { readonly turnId: string; readonly cursor: string },
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<{ readonly event: TurnEvent; readonly data: string }, void> {
  const gone = new MillraceError("upstream_failed", "The gateway does not answer, so the turn cannot be followed.", {
    hint: "Start it with `millrace serve`. It keeps a finished turn for two hours, or for the time of --retention.",
  });
  if (gateway === undefined) throw lost(gone);
  const stop = new AbortController();
  const reading = AbortSignal.any([signal, stop.signal]);
  let response: Response;
  try {
    const path = `/v1/turns/${encodeURIComponent(turnId)}/events`;
    response = await callGateway(gateway, path, {
      headers: { "last-event-id": cursor },
      clientName: "millrace-tail",
      signal: reading,
    });
  } catch (error) {
    // The gateway's own words are final; a connection that did not come about is not.
    throw isMillraceError(error) && error.cause !== undefined ? lost(gone) : error;
  }
  if (response.status === 204) return;
  try {
    const body: AsyncIterable<Uint8Array> = response.body ?? new ReadableStream<Uint8Array>();
    for await (const { event, data } of messagesOf(untilSilent(body, () => stallMs, clock, stop))) {
      if (event === "alive") continue;
      if (event === "error") throw lost(gone); // the log could not be read on; what it said of why is in the gateway's log
      const parsed = eventSchema.parse(JSON.parse(data));
      if (parsed.eventId !== cursor) yield { event: parsed as unknown as TurnEvent, data }; // our own gateway writes them
    }
  } catch (error) {
    if (signal.aborted || error instanceof TurnLoss || error instanceof z.ZodError) throw error;
    throw lost(gone);
  }
  throw lost(gone);
}
