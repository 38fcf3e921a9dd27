import { z } from "zod";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import { waitBefore } from "../../client/link/backoff.ts";
import { untilSilent } from "../../client/link/until-silent.ts";
import { isTerminal, type TurnEvent } from "../../log/event.ts";
import type { CommandContext } from "../command.ts";
import { callGateway, findGateway, type GatewayClient, messagesOf } from "../gateway-process/gateway-client.ts";

/** A quarter of an hour at most. */
const backoff = { baseMs: 250, capMs: 15_000, budget: 120 };
/** The gateway says something at least every 15 s as long as the model's server lives; a reconnect costs one request. */
const stallMs = 60_000;

const eventSchema = z.looseObject({ type: z.string(), eventId: z.string(), atMs: z.number() });

/** A turn that a command follows. */
export interface FollowedTurn {
  readonly id: string;
  /** How long it goes on after this reader, where this is one that keeps the turn alive; ms. */
  readonly graceMs?: number;
  readonly clientName: "millrace-chat" | "millrace-tail";
  /** The gateway at its address of now; undefined where none runs. */
  readonly gateway: (signal: AbortSignal) => Promise<GatewayClient | undefined>;
}

/**
 * Every event of a turn to its end, over any number of connections, each event once. The gateway is looked for at each: it may have a
 * new address after a restart. Throws the gateway's refusal, and `upstream_failed` when the gateway does not come back.
 */
export async function* followTurn(turn: FollowedTurn, context: CommandContext): AsyncGenerator<TurnEvent, void> {
  const tries = openTries(context);
  let cursor: string = startOfLog;
  for (;;) {
    try {
      for await (const event of followOnce(turn, cursor, context)) {
        tries.answered();
        yield event;
        cursor = event.eventId;
      }
      return; // it has nothing more: the cursor was the end
    } catch (error) {
      await tries.again(error);
    }
  }
}

/** The same request again, as long as only the connection fails. It tells the user of longer losses. */
export function openTries({ io: { clock }, out, signal }: CommandContext) {
  let fruitless = 0;
  let isAway = false;
  return {
    answered(): void {
      if (isAway) out.note("The gateway is back.");
      isAway = false;
      fruitless = 0;
    },
    /**
     * Waits before the next try. Throws an error that is no lost connection, and the reason of a loss that lasts, or after which a repetition
     * could be a second prompt.
     */
    async again(error: unknown, isRepeatable = true): Promise<void> {
      if (signal.aborted || !(error instanceof ConnectionLoss)) throw error;
      if (!isRepeatable) throw error.cause;
      fruitless++;
      const waitMs = waitBefore(fruitless, backoff, Math.random);
      if (waitMs === undefined) throw error.cause;
      if (fruitless === 2 && !isAway) {
        isAway = true;
        out.note("The gateway does not answer. Trying again; the rest of the answer will follow.");
      }
      await clock.sleep(waitMs, signal);
    },
  };
}

/** The connection is gone, and another one may bring the rest. */
class ConnectionLoss extends Error {
  override readonly name = "ConnectionLoss";
}

function lost(): ConnectionLoss {
  const cause = new MillraceError("upstream_failed", "The gateway does not answer, so the turn cannot be followed.", {
    hint: "Start it with `millrace serve`. It keeps a finished turn for two hours, or for the time of --retention.",
  });
  return new ConnectionLoss("the connection to the gateway is gone", { cause });
}

/** Calls the gateway. Its own words are final; a connection that did not come about is a `ConnectionLoss`. */
export async function callOrLose(
  { gateway, clientName }: Pick<FollowedTurn, "gateway" | "clientName">,
  path: string,
  init: Omit<Parameters<typeof callGateway>[2], "clientName">,
): Promise<Response> {
  try {
    const now = await gateway(init.signal);
    if (now !== undefined) return await callGateway(now, path, { ...init, clientName });
  } catch (error) {
    if (init.signal.aborted || !isMillraceError(error) || error.cause === undefined) throw error;
  }
  throw lost();
}

/** One connection. Returns only after the end of the turn; throws `ConnectionLoss` otherwise. */
async function* followOnce(
  turn: FollowedTurn,
  cursor: string,
  { io: { clock }, signal }: CommandContext,
): AsyncGenerator<TurnEvent, void> {
  const stop = new AbortController();
  const attach = turn.graceMs === undefined ? "" : `?attach=1&grace=${turn.graceMs}ms`;
  const response = await callOrLose(turn, `/v1/turns/${encodeURIComponent(turn.id)}/events${attach}`, {
    headers: { "last-event-id": cursor },
    signal: AbortSignal.any([signal, stop.signal]),
  });
  if (response.status === 204) return;
  let isEnded = false;
  try {
    const body: AsyncIterable<Uint8Array> = response.body ?? new ReadableStream<Uint8Array>();
    for await (const { event, data } of messagesOf(untilSilent(body, () => stallMs, clock, stop))) {
      if (event === "alive") continue;
      if (event === "error") throw lost(); // the log could not be read on; what it said of why is in the gateway's log
      const parsed = eventSchema.parse(JSON.parse(data)) as unknown as TurnEvent; // our own gateway writes them
      if (parsed.eventId === cursor) continue;
      isEnded = isTerminal(parsed);
      yield parsed;
    }
  } catch (error) {
    if (isEnded) return;
    if (signal.aborted || error instanceof z.ZodError) throw error;
    throw lost();
  }
  if (!isEnded) throw lost();
}

/** The running gateway, for `followTurn`. */
export const gatewayNow =
  ({ settings }: Pick<CommandContext, "settings">): FollowedTurn["gateway"] =>
  (signal) =>
    findGateway(settings, signal);
