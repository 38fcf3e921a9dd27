import { setTimeout as sleep } from "node:timers/promises";
import { createParser } from "eventsource-parser";

/** How long an answer may be silent before its client tries another gateway; ms. */
const silenceMs = 8_000;
const betweenTriesMs = 200;

export interface Asked {
  readonly name: string;
  readonly text: string;
  readonly turns: readonly string[];
  /** Ids of the log's events, in the order in which they came. */
  readonly ids: readonly string[];
  readonly connections: number;
  /** Why the turn failed, where it said so. */
  readonly failure: string | undefined;
}

export interface Question {
  readonly name: string;
  readonly text: string;
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string } }[];
  readonly error?: { readonly code?: string; readonly message?: string };
}

/** The gateway says that it can do nothing now, and that the request may be sent again. */
const passing = new Set(["unavailable", "degraded"]);

/** Asks over a balancer until the answer is whole: after each cut again, with the same key and the last event that came. */
export async function ask(url: string, key: string, question: Question, signal: AbortSignal): Promise<Asked> {
  const ids: string[] = [];
  const turns = new Set<string>();
  let text = "";
  let connections = 0;
  let failure: string | undefined;
  const end = { reached: false };
  const take = ({ id, data }: { readonly id?: string | undefined; readonly data: string }) => {
    if (data === "[DONE]") {
      end.reached = true;
      return;
    }
    const { choices, error } = JSON.parse(data) as Chunk; // the gateway's own wire
    if (error !== undefined && !passing.has(error.code ?? "")) failure = `${error.code}: ${error.message}`;
    text += choices?.[0]?.delta?.content ?? "";
    if (id !== undefined && id !== ids.at(-1)) ids.push(id);
  };
  while (!end.reached && failure === undefined) {
    signal.throwIfAborted();
    connections++;
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), silenceMs);
    try {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          connection: "close",
          "idempotency-key": `key-of-${question.name}`,
          ...(ids.length === 0 ? {} : { "last-event-id": ids.at(-1) ?? "" }),
        },
        body: JSON.stringify({
          model: "claude-sonnet-4.6",
          stream: true,
          messages: [{ role: "user", content: `${question.name}. [[sim: text="${question.text}"]]` }],
        }),
        signal: AbortSignal.any([silence.signal, signal]),
      });
      if (!response.ok || response.body === null) {
        const said = await response.text();
        if (said.includes('"param":"last-event-id"')) {
          ids.length = 0; // as the hint says: its part was never stored
          text = "";
          continue;
        }
        if (response.status < 500 && response.status !== 424) failure = `${response.status}: ${said}`;
        if (/"code":"upstream_(?:failed|timeout)"/.test(said)) failure = said;
      } else {
        if (text === "") turns.clear(); // one that gave nothing may have been taken back
        turns.add(response.headers.get("x-millrace-turn") ?? "");
        const parser = createParser({ onEvent: take });
        for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
          clearTimeout(timer);
          timer = setTimeout(() => silence.abort(), silenceMs);
          parser.feed(piece);
        }
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TypeError) && !silence.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
    }
    if (!end.reached && failure === undefined) await sleep(betweenTriesMs, undefined, { signal });
  }
  return { name: question.name, text, turns: [...turns], ids, connections, failure };
}
