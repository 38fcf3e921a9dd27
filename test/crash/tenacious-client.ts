import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { Lives } from "./lives.ts";

/** What a client got of one turn, over as many connections as it took. */
export interface Received {
  readonly turnId: string;
  /** `id:` of every wire event, in the order in which they came. */
  readonly ids: readonly string[];
  readonly text: string;
  readonly connections: number;
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly error?: { readonly code?: string; readonly message?: string };
}

const model = "claude-sonnet-4.6";
const betweenTriesMs = 100;

/**
 * Asks one question and does not give up: after every cut it sends the same request with the same key again, from the last
 * event that it got. Throws when the turn fails, or when an answer breaks the rules of resumption.
 */
export async function askUntilAnswered(
  lives: Lives,
  question: string,
  key: string,
  signal: AbortSignal,
): Promise<Received> {
  const ids: string[] = [];
  let turnId: string | undefined;
  let text = "";
  let connections = 0;
  const end = { reached: false };
  const take = ({ id, data }: EventSourceMessage) => {
    if (data === "[DONE]") {
      end.reached = true;
      return;
    }
    const chunk = JSON.parse(data) as Chunk; // the gateway's own wire
    if (chunk.error !== undefined) throw new Error(`the turn failed: ${data}`);
    text += chunk.choices?.[0]?.delta?.content ?? "";
    if (id !== undefined) ids.push(id);
  };
  while (!end.reached) {
    if (signal.aborted) throw new RuleBroken(`no end after ${connections} connections and ${ids.length} events`);
    const last = ids.at(-1);
    try {
      const gateway = await lives.current();
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${gateway.key}`,
          "content-type": "application/json",
          "idempotency-key": key,
          ...(last === undefined ? {} : { "last-event-id": last }),
        },
        body: JSON.stringify({ model, stream: true, messages: [{ role: "user", content: question }] }),
        signal,
      });
      connections++;
      if (!response.ok || response.body === null) {
        throw new RuleBroken(`${response.status} for a request that was good before: ${await response.text()}`);
      }
      const served = response.headers.get("x-millrace-turn") ?? "";
      if (ids.length > 0 && served !== turnId) throw new RuleBroken(`turn ${turnId} became turn ${served}`);
      turnId = served;
      const parser = createParser({ onEvent: take });
      for await (const piece of response.body.pipeThrough(new TextDecoderStream())) parser.feed(piece);
    } catch (error) {
      if (!isCut(error) && !signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, betweenTriesMs));
    }
  }
  return { turnId: turnId ?? "", ids, text, connections };
}

class RuleBroken extends Error {}

/** A connection that was refused or cut: what `fetch` makes of a dead gateway. */
function isCut(error: unknown): boolean {
  return error instanceof TypeError && /fetch failed|terminated/.test(error.message);
}
