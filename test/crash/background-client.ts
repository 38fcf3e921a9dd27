import { createParser } from "eventsource-parser";
import type { TurnId } from "../../src/base/ids.ts";
import {
  betweenTriesMs,
  type CrashClient,
  eventOf,
  isCut,
  isRefused,
  plainPrompt,
  type Question,
  type Received,
  RuleBroken,
  readTurnLog,
  toldFailure,
  withLeft,
} from "./crash-client.ts";
import type { Lives } from "./lives.ts";
import type { Progress } from "./progress.ts";
import { readResponsesEvent } from "./sse-client.ts";

/** Asks with `background: true`, then follows the response by its sequence numbers, from wherever it was cut. */
export const backgroundClient: CrashClient = { name: "openai-responses, background", prompts: 1, ask };

async function ask(lives: Lives, question: Question, progress: Progress): Promise<Received> {
  let connections = 0;
  /** One request, however often it takes: `work` returns true once it has what it wants. */
  const insist = async (
    asked: (url: string) => { readonly url: string; readonly method?: "POST"; readonly body?: string },
    work: (response: Response) => Promise<boolean>,
  ) => {
    for (let isDone = false; !isDone; ) {
      progress.signal.throwIfAborted();
      try {
        const gateway = await lives.current();
        const { url, ...request } = asked(gateway.url);
        const headers = {
          authorization: `Bearer ${gateway.key}`,
          "content-type": "application/json",
          "idempotency-key": `key-of-${question.name}`,
        };
        const response = await fetch(url, { headers, signal: progress.signal, ...request });
        connections++;
        if (isRefused(response)) {
          await response.body?.cancel();
          await new Promise((resolve) => setTimeout(resolve, betweenTriesMs));
          continue;
        }
        if (!response.ok) throw new RuleBroken(`${response.status} at ${url}: ${await response.text()}`);
        isDone = await work(response);
      } catch (error) {
        progress.signal.throwIfAborted();
        if (!isCut(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, betweenTriesMs));
      }
    }
  };

  const body = JSON.stringify({ model: question.model, background: true, input: plainPrompt(question) });
  let responseId = "";
  await insist(
    (url) => ({ url: `${url}/v1/responses`, method: "POST", body }),
    async (response) => {
      const { id } = (await response.json()) as { readonly id: string };
      responseId = id;
      progress.note(`${question.name} was taken`);
      return true;
    },
  );

  const wireIds: string[] = [];
  const end = { reached: false };
  let text = "";
  let cursor = -1;
  const followed = createFollower((sequence, id, data) => {
    const { delta = "", isEnd = false, failure } = readResponsesEvent(data);
    if (failure !== undefined) throw toldFailure(failure);
    if (sequence <= cursor) return; // what a reader who comes back needs to understand the rest
    const isOfLaterClaim = sequence > 0 && sequence % 1_000_000 === 0;
    if (sequence !== cursor + 1 && !isOfLaterClaim) throw new RuleBroken(`event ${sequence} follows event ${cursor}`);
    cursor = sequence;
    if (id !== undefined) wireIds.push(id);
    text += delta;
    end.reached ||= isEnd;
    progress.note(`an event of ${question.name}`);
  });
  const turnId = () => responseId.replace(/^resp_/, "turn_") as TurnId; // one id, two prefixes
  const after = () => (cursor < 0 ? "" : `&starting_after=${cursor}`);
  try {
    await insist(
      (url) => ({ url: `${url}/v1/responses/${responseId}?stream=true${after()}` }),
      async (response) => {
        if (response.body === null) throw new RuleBroken("a stream without a body");
        const parser = createParser({ onEvent: followed });
        for await (const piece of response.body.pipeThrough(new TextDecoderStream())) parser.feed(piece);
        return end.reached;
      },
    );
  } catch (error) {
    throw withLeft(error, { text, broken: [], readLog: (gateway) => readTurnLog(gateway, turnId()) });
  }

  const broken: string[] = [];
  await insist(
    (url) => ({ url: `${url}/v1/responses/${responseId}` }),
    async (response) => {
      const { status, output } = (await response.json()) as Retrieved;
      const said = output.flatMap(({ content = [] }) => content.map((part) => part.text)).join("");
      if (status !== "completed" || said !== text) broken.push(`retrieved it is ${status}, and another text`);
      return true;
    },
  );
  return {
    ids: wireIds.flatMap((id) => eventOf(id) ?? []),
    wireIds,
    text,
    connections,
    deaths: 0,
    broken,
    readLog: (gateway) => readTurnLog(gateway, turnId()),
  };
}

interface Retrieved {
  readonly status: string;
  readonly output: readonly { readonly content?: readonly { readonly text: string }[] }[];
}

/** Events with a number, and the log's id where the wire says it; `[DONE]` has neither. */
function createFollower(take: (sequence: number, id: string | undefined, data: string) => void) {
  return ({ id, data }: { readonly id?: string | undefined; readonly data: string }) => {
    if (data === "[DONE]") return;
    const { sequence_number } = JSON.parse(data) as { readonly sequence_number: number };
    take(sequence_number, id, data);
  };
}
