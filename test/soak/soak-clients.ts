import type { CrashClient, Question, Received } from "../crash/crash-client.ts";
import {
  betweenTriesMs,
  isCut,
  isRefused,
  isStoredFailure,
  plainPrompt,
  RuleBroken,
  TurnFailed,
} from "../crash/crash-client.ts";
import type { Lives } from "../crash/lives.ts";
import type { Progress } from "../crash/progress.ts";
import { sseClients } from "../crash/sse-client.ts";
import { streamClients } from "../crash/stream-client.ts";

interface Whole {
  readonly name: string;
  readonly path: string;
  bodyOf(prompt: string, model: string): object;
  textOf(answer: AnyAnswer): string | null | undefined;
}

interface AnyAnswer {
  readonly choices?: readonly { readonly message: { readonly content: string | null } }[];
  readonly output?: readonly { readonly content?: readonly { readonly text?: string }[] }[];
  readonly content?: readonly { readonly text?: string }[];
}

const wholes: readonly Whole[] = [
  {
    name: "openai-chat, not streamed",
    path: "/v1/chat/completions",
    bodyOf: (content, model) => ({ model, messages: [{ role: "user", content }] }),
    textOf: ({ choices }) => choices?.[0]?.message.content,
  },
  {
    name: "openai-responses, not streamed",
    path: "/v1/responses",
    bodyOf: (input, model) => ({ model, input }),
    textOf: ({ output }) =>
      output
        ?.flatMap(({ content }) => content ?? [])
        .map(({ text }) => text)
        .join(""),
  },
  {
    name: "anthropic-messages, not streamed",
    path: "/v1/messages",
    bodyOf: (content, model) => ({ model, max_tokens: 4_000, messages: [{ role: "user", content }] }),
    textOf: ({ content }) => content?.map(({ text }) => text ?? "").join(""),
  },
];

/** Asks in a body and gets one, and asks again with the same key after a cut. */
async function askWhole(whole: Whole, lives: Lives, question: Question, { signal }: Progress): Promise<Received> {
  const body = JSON.stringify(whole.bodyOf(plainPrompt(question), question.model));
  for (let connections = 1; ; connections++) {
    signal.throwIfAborted();
    try {
      const response = await post(lives, whole.path, body, question, signal);
      const said = await response.text();
      if (response.ok) {
        const text = whole.textOf(JSON.parse(said) as AnyAnswer) ?? "";
        return { ids: [], wireIds: [], text, connections, deaths: 0, broken: [], readLog: () => Promise.resolve([]) };
      }
      if (isStoredFailure(response.status, said)) throw new TurnFailed(said);
      if (!isRefused(response)) throw new RuleBroken(`${response.status} for a good request: ${said}`);
    } catch (error) {
      signal.throwIfAborted();
      if (!isCut(error)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, betweenTriesMs));
  }
}

async function post(lives: Lives, path: string, body: string, { name }: Question, signal: AbortSignal) {
  const { url, key } = await lives.current();
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "idempotency-key": `key-of-${name}`,
  };
  return fetch(url + path, { method: "POST", headers, body, signal });
}

/** Goes away at the first bytes of its answer, and comes back with the same key for all of it. */
async function askAndLeave(
  again: CrashClient,
  lives: Lives,
  question: Question,
  progress: Progress,
): Promise<Received> {
  const leaving = new AbortController();
  const messages = [{ role: "user", content: plainPrompt(question) }];
  const body = JSON.stringify({ model: question.model, stream: true, messages });
  const signal = AbortSignal.any([leaving.signal, progress.signal]);
  try {
    const response = await post(lives, "/v1/chat/completions", body, question, signal);
    await response.body?.getReader().read();
  } catch (error) {
    if (!isCut(error)) throw error; // the gateway died first
  } finally {
    leaving.abort();
  }
  return again.ask(lives, question, progress);
}

const [chat] = sseClients;
if (chat === undefined) throw new Error("there is a client of Chat Completions");

/** Who asks, in turn: every dialect, streamed and not, every tier of the stream protocol, and one that leaves. */
export const soakClients: readonly CrashClient[] = [
  ...sseClients,
  ...wholes.map((whole) => ({
    name: whole.name,
    prompts: 1,
    ask: (lives: Lives, question: Question, progress: Progress) => askWhole(whole, lives, question, progress),
  })),
  ...streamClients,
  {
    name: "openai-chat, left and resumed",
    prompts: 1,
    ask: (lives, question, progress) => askAndLeave(chat, lives, question, progress),
  },
];
