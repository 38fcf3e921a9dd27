import { randomUUID } from "node:crypto";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { writeJson } from "../../base/json.ts";
import type { TurnEvent } from "../../log/event.ts";
import type { CommandContext } from "../command.ts";
import { callGateway, type GatewayClient, readHealth, storeProblemOf } from "../gateway-process/gateway-client.ts";
import { callOrLose, followTurn, openTries } from "./follow-turn.ts";
import { newestTurns } from "./pick-turn.ts";

/** A question as Chat Completions take it. */
export interface ChatBody {
  readonly model: string;
  readonly messages: readonly { readonly role: "system" | "user" | "assistant"; readonly content: unknown }[];
  readonly stop?: readonly string[];
  readonly reasoning_effort?: string;
  readonly response_format?: unknown;
}

/** A turn of `chat`. */
export interface ChatTurn {
  /** Undefined until the gateway has said it. */
  readonly id: () => string | undefined;
  /** To its end, over any number of connections, until the signal of the context aborts. */
  readonly events: () => AsyncIterable<TurnEvent>;
  readonly cancel: (signal: AbortSignal) => Promise<void>;
}

const clientName = "millrace-chat";
/** How long a turn waits for its reader after it has begun, at least; ms. */
const mostUntilReadMs = 60_000;

/** How the turns of a chat reach their gateway. */
export interface ChatWay {
  readonly gateway: (signal: AbortSignal) => Promise<GatewayClient>;
  readonly graceMs: number;
}

/** Asks under a key of its own, so that a repetition after a lost connection is the same turn. */
export function askTurn(body: ChatBody, way: ChatWay, context: CommandContext): ChatTurn {
  const key = randomUUID();
  let id: string | undefined;
  return {
    id: () => id,
    async *events() {
      id = await begin(body, key, way, context);
      yield* followTurn({ ...way, id, clientName }, context);
    },
    async cancel(signal) {
      const gateway = await way.gateway(signal);
      const turn = id ?? (await turnUnder(key, gateway, signal));
      if (turn !== undefined) await cancelTurn(turn, gateway, signal);
    },
  };
}

async function begin(body: ChatBody, key: string, way: ChatWay, context: CommandContext): Promise<string> {
  const { out, signal } = context;
  const tries = openTries(context);
  const grace = Math.max(way.graceMs, mostUntilReadMs);
  for (let isKept = true; ; ) {
    try {
      const response = await callOrLose({ ...way, clientName }, `/v1/chat/completions?grace=${grace}ms`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(isKept && { "idempotency-key": key }) },
        body: writeJson({ ...body, stream: true }),
        signal,
      });
      await response.body?.cancel(); // it is read as a turn
      tries.answered();
      if (response.headers.get("x-millrace-degraded") === "true")
        out.note("The gateway cannot write to its store. If the connection is lost, this answer is lost too.");
      const id = response.headers.get("x-millrace-turn");
      if (id !== null) return id;
      throw new MillraceError("upstream_failed", "The gateway did not name the turn of this question.");
    } catch (error) {
      const code = isMillraceError(error) ? error.code : undefined;
      if (isKept && code === "unavailable" && (await lacksStore(way, signal))) {
        isKept = false; // the gateway has sent nothing: without its store it takes no key
        continue;
      }
      const failed = code === undefined || signal.aborted ? undefined : await failedTurn(key, way, signal);
      if (failed !== undefined) return failed; // its own events say how it failed
      await tries.again(error, isKept);
    }
  }
}

async function lacksStore(way: ChatWay, signal: AbortSignal): Promise<boolean> {
  return storeProblemOf(await readHealth(await way.gateway(signal), signal)) !== undefined;
}

/** The turn of a question that was answered with an error, where it became one. */
async function failedTurn(key: string, way: ChatWay, signal: AbortSignal): Promise<string | undefined> {
  try {
    return await turnUnder(key, await way.gateway(signal), signal);
  } catch (error) {
    if (isMillraceError(error)) return undefined;
    throw error;
  }
}

async function turnUnder(key: string, gateway: GatewayClient, signal: AbortSignal): Promise<string | undefined> {
  return (await newestTurns(gateway, 100, signal)).find((turn) => turn.idempotency_key === key)?.id;
}

async function cancelTurn(id: string, gateway: GatewayClient, signal: AbortSignal): Promise<void> {
  await callGateway(gateway, `/v1/turns/${encodeURIComponent(id)}/cancel`, { method: "POST", clientName, signal });
}
