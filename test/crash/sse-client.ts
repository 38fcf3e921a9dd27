import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { TurnId } from "../../src/base/ids.ts";
import {
  betweenTriesMs,
  type CrashClient,
  eventOf,
  isCut,
  isRefused,
  isStopping,
  isStoredFailure,
  plainPrompt,
  type Question,
  type Received,
  RuleBroken,
  readLogByKey,
  readTurnLog,
  TurnFailed,
  toldFailure,
  withLeft,
} from "./crash-client.ts";
import type { Lives } from "./lives.ts";
import type { Progress } from "./progress.ts";

/** What one event of a dialect means to a client. */
export interface Meaning {
  readonly delta?: string;
  readonly isEnd?: boolean;
  readonly failure?: string;
}

interface Dialect {
  readonly name: string;
  readonly path: string;
  bodyOf(prompt: string, model: string): object;
  read(data: string): Meaning;
}

interface AnyEvent {
  readonly type?: string;
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly delta?: string | { readonly text?: string };
  readonly response?: { readonly output_text?: string };
  readonly error?: unknown;
}

const asEvent = (data: string) => JSON.parse(data) as AnyEvent; // the gateway's own wire

/** An event of the Responses API. */
export function readResponsesEvent(data: string): Meaning {
  if (data === "[DONE]") return {};
  const { type, delta } = asEvent(data);
  if (type === "response.output_text.delta" && typeof delta === "string") return { delta };
  if (type === "response.completed") return { isEnd: true };
  if (type === "error" || type === "response.failed" || type === "response.incomplete") return { failure: data };
  return {};
}

const dialects: readonly Dialect[] = [
  {
    name: "openai-chat",
    path: "/v1/chat/completions",
    bodyOf: (content, model) => ({ model, stream: true, messages: [{ role: "user", content }] }),
    read(data) {
      if (data === "[DONE]") return { isEnd: true };
      const { choices, error } = asEvent(data);
      return error === undefined ? { delta: choices?.[0]?.delta?.content ?? "" } : { failure: data };
    },
  },
  {
    name: "openai-responses",
    path: "/v1/responses",
    bodyOf: (input, model) => ({ model, stream: true, input }),
    read: readResponsesEvent,
  },
  {
    name: "anthropic-messages",
    path: "/v1/messages",
    bodyOf: (content, model) => ({ model, stream: true, max_tokens: 4_000, messages: [{ role: "user", content }] }),
    read(data) {
      const { type, delta } = asEvent(data);
      if (type === "error") return { failure: data };
      if (type === "content_block_delta" && typeof delta === "object") return { delta: delta.text ?? "" };
      return { isEnd: type === "message_stop" };
    },
  },
];

/** Clients that ask and stream in one request, and send it again with the same key after every cut, from the last event. */
export const sseClients: readonly CrashClient[] = dialects.map((dialect) => ({
  name: dialect.name,
  prompts: 1,
  ask: (lives, question, progress) => askUntilAnswered(dialect, lives, question, progress),
}));

async function askUntilAnswered(
  dialect: Dialect,
  lives: Lives,
  question: Question,
  progress: Progress,
): Promise<Received> {
  const body = JSON.stringify(dialect.bodyOf(plainPrompt(question), question.model));
  const wireIds: string[] = [];
  let turnId: TurnId | undefined;
  let text = "";
  let connections = 0;
  const end = { reached: false };
  const take = ({ id, data }: EventSourceMessage) => {
    if (end.reached && data !== "[DONE]") throw new RuleBroken(`an event after the end: ${data}`);
    const { delta = "", isEnd = false, failure } = dialect.read(data);
    if (failure !== undefined) throw toldFailure(failure);
    progress.note(`an event of ${question.name}`);
    text += delta;
    end.reached ||= isEnd;
    // In a silence the gateway repeats the last id with an event that says nothing.
    const isHeartbeat = id === wireIds.at(-1) && delta === "" && !isEnd;
    if (id !== undefined && !isHeartbeat) wireIds.push(id);
  };
  while (!end.reached) {
    progress.signal.throwIfAborted();
    const last = wireIds.at(-1);
    try {
      const gateway = await lives.current();
      const response = await fetch(`${gateway.url}${dialect.path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${gateway.key}`,
          "content-type": "application/json",
          "idempotency-key": `key-of-${question.name}`,
          ...(last === undefined ? {} : { "last-event-id": last }),
        },
        body,
        signal: progress.signal,
      });
      connections++;
      if (!response.ok || response.body === null) {
        const said = await response.text();
        if (isStoredFailure(response.status, said)) throw new TurnFailed(said);
        if (isStopping(said) || (isRefused(response) && wireIds.length === 0)) {
          await new Promise((resolve) => setTimeout(resolve, betweenTriesMs));
          continue;
        }
        throw new RuleBroken(`${response.status} for a request that was good before: ${said}`);
      }
      const served = (response.headers.get("x-millrace-turn") ?? "") as TurnId; // the gateway's own header
      if (wireIds.length > 0 && served !== turnId) throw new RuleBroken(`turn ${turnId} became turn ${served}`);
      turnId = served;
      const parser = createParser({ onEvent: take });
      for await (const piece of response.body.pipeThrough(new TextDecoderStream())) parser.feed(piece);
    } catch (error) {
      progress.signal.throwIfAborted();
      if (!isCut(error))
        throw withLeft(error, { text, broken: [], readLog: (gateway) => readLogByKey(gateway, question) });
      await new Promise((resolve) => setTimeout(resolve, betweenTriesMs));
    }
  }
  const turn = turnId ?? ("" as TurnId);
  return {
    ids: wireIds.flatMap((id) => eventOf(id) ?? []),
    wireIds,
    text,
    connections,
    deaths: 0,
    broken: [],
    readLog: (gateway) => readTurnLog(gateway, turn),
  };
}
