import type { Asked } from "./exchange.ts";

/** A way to ask for a streamed answer: one for every dialect that streams events. */
export interface Surface {
  readonly name: string;
  ask(question: string, key: string, bearer: string, after: string | undefined, model?: string): Asked;
}

function surface(name: string, path: string, bodyOf: (question: string) => object): Surface {
  return {
    name,
    ask: (question, key, bearer, after, model = "claude-sonnet-4.6") => {
      const body = JSON.stringify({ model, ...bodyOf(question) });
      return {
        method: "POST",
        path,
        body,
        headers: {
          authorization: `Bearer ${bearer}`,
          "content-type": "application/json",
          "content-length": String(Buffer.byteLength(body)),
          "idempotency-key": key,
          ...(after === undefined ? {} : { "last-event-id": after }),
        },
      };
    },
  };
}

export const surfaces: readonly Surface[] = [
  surface("openai-chat", "/v1/chat/completions", (content) => ({
    stream: true,
    messages: [{ role: "user", content }],
  })),
  surface("openai-responses", "/v1/responses", (input) => ({ stream: true, input })),
  surface("anthropic-messages", "/v1/messages", (content) => ({
    stream: true,
    max_tokens: 1000,
    messages: [{ role: "user", content }],
  })),
];
