import { setTimeout as wait } from "node:timers/promises";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { agentLoop, type LoopApi, loopApis } from "../support/tool-loop.ts";
import { patience, patienceMs } from "../support/world.ts";
import { type Cell, cells } from "./apis.ts";

/** What clients need of the machine that they run on. */
export interface ClientPlace {
  readonly current: GatewayProcess;
  readonly model: string;
  /** The key is about to be replaced: a client that is refused gets the new one. */
  readonly isKeyReplaced?: boolean;
}

/** A client that repeats its request until it has the whole answer, or an error that no repeat ends. */
export interface MixedClient {
  readonly how: string;
  readonly isKeyed: boolean;
  readonly isLoop: boolean;
  /** Calls `begun` in the middle, and there runs a tool until `struck`. Answers the text, or what was said instead. */
  ask(
    machine: ClientPlace,
    mark: string,
    when: { readonly begun: () => void; readonly struck: Promise<void> },
  ): Promise<Outcome>;
}

type Outcome = { readonly text: string } | { readonly failed: string };

/** As clients wait between two tries. */
const betweenTriesMs = 200;
/** Characters of an answer that is text alone. */
export const answerSize = 1_500;
const textFor = (mark: string) => `[[sim: size=${answerSize}]] write for ${mark}`;

const deltas: Readonly<Record<Cell["api"], RegExp>> = {
  "Chat Completions": /"content":"((?:[^"\\]|\\.)*)"/g,
  Responses: /"delta":"((?:[^"\\]|\\.)*)"/g,
  Messages: /"text_delta","text":"((?:[^"\\]|\\.)*)"/g,
  Gemini: /"text":"((?:[^"\\]|\\.)*)"/g,
  "the stream protocol": /"delta":"((?:[^"\\]|\\.)*)"/g,
};

/** The answer's own text in all that came. An original client of the stream protocol has it alone. */
function textOf({ api, keyed }: Cell, read: string): string {
  if (api === "the stream protocol" && keyed) return read;
  return [...read.matchAll(deltas[api])].map(([, delta]) => JSON.parse(`"${delta}"`)).join("");
}

/** Tries until something comes that is more than the news that no gateway answers now. */
async function repeated<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  const signal = patience();
  for (;;) {
    signal.throwIfAborted();
    try {
      const got = await attempt();
      if (got !== undefined) return got;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // the connection broke, or no gateway listens now
    }
    await wait(betweenTriesMs);
  }
}

/** A status after which clients give up. */
const isFinal = (status: number) => status >= 400 && status < 500 && ![408, 409, 424, 429].includes(status);
/** Errors that no repeat under the same key ends. */
const finalError = /"code":"(?:upstream_failed|invalid_request|unauthenticated|idempotency_conflict|not_found)"/;

function streamed(cell: Cell): MixedClient {
  return {
    how: cell.how,
    isKeyed: cell.keyed,
    isLoop: false,
    ask: (machine, mark, { begun }) =>
      repeated<Outcome>(async () => {
        const { model, current } = machine;
        const key = cell.keyed ? { key: mark } : {};
        const question = { model, text: textFor(mark), ...key, onText: begun, awayMs: patienceMs };
        const { failed, text, status = 0 } = await cell.ask(current, question);
        if (!failed) return { text: textOf(cell, text) };
        const isOver = isFinal(status) || (cell.keyed && finalError.test(text));
        return isOver ? { failed: `${status} ${text}` } : undefined;
      }),
  };
}

async function called({ current }: ClientPlace, path: string, init: { readonly body?: object; readonly key?: string }) {
  const response = await fetch(`${current.url}${path}`, {
    method: init.body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${current.key}`,
      "content-type": "application/json",
      ...(init.key && { "idempotency-key": init.key }),
    },
    ...(init.body && { body: JSON.stringify(init.body) }),
    signal: patience(),
  });
  const { status } = response;
  return { status, answer: (await response.json()) as Readonly<Record<string, unknown>> }; // the gateway's
}

interface BackgroundAnswer {
  readonly status: string;
  readonly output: readonly { readonly content?: readonly { readonly text?: string }[] }[];
}

export const inBackground: MixedClient = {
  how: "Responses, in the background",
  isKeyed: true,
  isLoop: false,
  async ask(machine, mark, { begun }) {
    const body = { model: machine.model, input: textFor(mark), background: true };
    const id = await repeated<unknown>(
      async () => (await called(machine, "/v1/responses", { body, key: mark })).answer["id"],
    );
    begun();
    return repeated<Outcome>(async () => {
      const { status, answer } = await called(machine, `/v1/responses/${String(id)}`, {});
      const { status: state, output } = answer as unknown as BackgroundAnswer; // of the Responses API
      if (state === "completed")
        return { text: output.flatMap(({ content = [] }) => content.map(({ text = "" }) => text)).join("") };
      if (status === 401 && machine.isKeyReplaced === true) return undefined;
      return isFinal(status) || state === "failed" ? { failed: JSON.stringify(answer) } : undefined;
    });
  },
};

const throughLoop = (api: LoopApi): MixedClient => ({
  how: `${api.name}, with a tool loop`,
  isKeyed: true,
  isLoop: true,
  async ask(machine, mark, { begun, struck }) {
    const { model } = machine;
    const messages: object[] = [{ role: "user", content: `${agentLoop.question} For ${mark}.` }];
    let results = 0;
    for (let round = 0; ; round++) {
      const answer = await repeated(async () => {
        const target = { ...machine.current, idempotencyKey: `${mark}-${round}` };
        try {
          return await api.ask(target, model, messages, agentLoop.tool);
        } catch (error) {
          if (error instanceof TypeError) throw error;
          const said = String(error);
          return finalError.test(said) ? { failed: said } : undefined;
        }
      });
      if ("failed" in answer) return answer;
      if (answer.calls.length === 0) return { text: answer.text };
      messages.push(...answer.messages, ...api.results(answer.calls.map(({ id }) => ({ id, text: `r${++results}` }))));
      if (round > 0) continue;
      begun();
      await struck;
    }
  },
});

const keyed = cells.filter((cell) => cell.keyed);

/** With a key and without, in all APIs, and in the background. */
export const textClients: readonly MixedClient[] = [...[...cells, ...keyed].map(streamed), inBackground, inBackground];

/** In the middle of a tool loop. */
export const loopClients: readonly MixedClient[] = loopApis.map(throughLoop);
