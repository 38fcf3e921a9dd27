import { readdirSync, readFileSync } from "node:fs";
import type { TurnId } from "../base/ids.ts";
import { eventIdOf, type TurnEvent, type TurnEventBody } from "../log/event.ts";
import type { Tool, TurnRequest } from "../log/request.ts";
import { type Answer, AnswerFold } from "./dialects/answer.ts";
import type { Dialect, EncodeContext, ParsedTurn } from "./dialects/dialect.ts";
import { writeSse } from "./http/reply.ts";

const folder = new URL("./dialects/fixtures/", import.meta.url);

/** Names of the recorded logs that every dialect's golden files are made from. */
export const recordedNames: readonly string[] = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map((name) => name.replace(/\.json$/, ""));

/** A recorded log, with ids and times as a store would give them. */
export function recordedLog(name: string): TurnEvent[] {
  const text = readFileSync(new URL(`${name}.json`, folder), "utf8");
  return asLog(JSON.parse(text) as TurnEventBody[]); // our own files, written in the log's vocabulary
}

export function asLog(bodies: readonly TurnEventBody[]): TurnEvent[] {
  return bodies.map((body, i) => {
    return { ...body, eventId: eventIdOf(i + 1), atMs: 1_750_000_000_000 + i };
  });
}

const tool = (name: string, kind: Tool["kind"]): Tool => ({ name, description: "", kind, parameters: {} });

/** A request whose tools the recorded logs call. */
export const recordedRequest: TurnRequest = {
  model: "test-model",
  messages: [{ role: "user", parts: [{ type: "text", text: "Hello" }] }],
  tools: [tool("weather", "function"), tool("now", "function"), tool("apply_patch", "freeform")],
  toolChoice: { type: "auto" },
  parallelToolCalls: true,
  responseFormat: { type: "text" },
  stop: [],
};

export function recordedContext(parsed: Partial<ParsedTurn>): EncodeContext {
  return {
    turnId: "turn_01jy0000000000000000000000" as TurnId,
    createdAtMs: 1_750_000_000_000,
    parsed: { request: recordedRequest, stream: true, ...parsed },
    requestId: "req_test",
    promptTokens: 17,
    estimateTokens: (text) => Math.ceil(text.length / 4),
  };
}

/** A log as the bytes of a dialect's stream. */
export function streamText(dialect: Dialect, context: EncodeContext, events: readonly TurnEvent[]): string {
  const encoder = dialect.encoder(context);
  const wire = [...encoder.open(), ...events.flatMap((event) => encoder.encode(event))];
  return wire.map((event) => writeSse(event)).join("");
}

/** A log as the answer that is not streamed. */
export function wholeAnswerOf(events: readonly TurnEvent[], request: TurnRequest = recordedRequest): Answer {
  const fold = new AnswerFold(request);
  for (const event of events) fold.push(event);
  return fold.answer;
}
