import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** What an agent asked its model: the whole conversation as one text. */
interface Asked {
  readonly model: string;
  readonly text: string;
}

/** A local OpenAI-compatible server that plays the model behind a real agent. */
export interface ModelServer {
  readonly url: string;
  /** Requests whose conversation holds this text, without those that only ask for a title. */
  asked(part: string): readonly Asked[];
  /** Resolves when a held answer waits to go on. */
  held(): Promise<void>;
  release(): void;
  close(): Promise<void>;
}

/**
 * It answers `pong` to `ping`, and counts to a number. `hold` in the question makes it stop after the first word until it is
 * released. `use the tool <name> with <json>` makes it call a tool of the agent's own.
 */
export async function startModelServer(): Promise<ModelServer> {
  const requests: Asked[] = [];
  let waiting = Promise.withResolvers<void>();
  let going = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy()); // the agent left
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.endsWith("/chat/completions") !== true) {
      response.writeHead(404).end();
      return;
    }
    const body = JSON.parse(await text(request)) as {
      readonly model: string;
      readonly messages: readonly { readonly role: string; readonly content: unknown }[];
      readonly tools?: readonly unknown[];
    };
    const whole = JSON.stringify(body.messages);
    const isTitle = (body.tools ?? []).length === 0;
    if (!isTitle) requests.push({ model: body.model, text: whole });
    const question = JSON.stringify(body.messages.findLast(({ role }) => role === "user")?.content ?? "");
    const hasResult = body.messages.at(-1)?.role === "tool";
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta: object, reason: string | null = null) =>
      response.write(
        `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: body.model, choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`,
      );
    const call = /use the tool (\w+) with (\{.*?\})(?=[\s."]|$)/.exec(question.replaceAll('\\"', '"'));
    if (isTitle) send({ content: "A title" });
    else if (call !== null && !hasResult) {
      const [, name, json] = call;
      send({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name, arguments: json } }] });
    } else {
      const words = wordsFor(question);
      for (const [index, word] of words.entries()) {
        if (index === 1 && question.includes("hold")) {
          waiting.resolve();
          await going.promise;
          going = Promise.withResolvers();
          waiting = Promise.withResolvers();
        }
        send({ content: word });
      }
    }
    send({}, call !== null && !hasResult && !isTitle ? "tool_calls" : "stop");
    const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
    response.write(
      `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: body.model, choices: [], usage })}\n\n`,
    );
    response.end("data: [DONE]\n\n");
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked: (part) => requests.filter((request) => request.text.includes(part)),
    held: () => waiting.promise,
    release: () => going.resolve(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function wordsFor(question: string): readonly string[] {
  const count = /count to (\d+)/.exec(question)?.[1];
  if (count === undefined) return ["pong"];
  return Array.from({ length: Number(count) }, (_, index) => (index === 0 ? "1" : `, ${index + 1}`));
}
