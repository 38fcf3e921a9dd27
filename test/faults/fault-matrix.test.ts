import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isMillraceError } from "../../src/base/errors.ts";
import { nodeLink } from "../../src/client/node/node-link.ts";
import { openMemoryRecordStore } from "../../src/client/records/memory-record-store.ts";
import { startReliableStream } from "../../src/client/stream/start-stream.ts";
import { type Simulator, startSimulator } from "../../src/simulator/start.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/gateway-process.ts";
import { patience } from "../support/world.ts";

/** How often a client sends the same bytes again, at once. */
const repeats = 5;
/** Within this a person has read why, with what the load of a test machine adds; ms. */
const soonMs = 10_000;

/** What one attempt of a client came to. */
interface Told {
  readonly failed: boolean;
  readonly text: string;
  readonly tookMs: number;
}

/** One way to ask; each attempt of it is the same request, byte for byte. */
interface Api {
  readonly name: string;
  ask(gateway: GatewayProcess, question: Question, key: string | undefined): Promise<Omit<Told, "tookMs">>;
}

interface Question {
  readonly model: string;
  readonly text: string;
}

function overHttp(path: string, body: (question: string) => object): Api["ask"] {
  return async ({ url, key: apiKey }, { model, text: question }, key) => {
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${apiKey}`,
        "content-type": "application/json",
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
      body: JSON.stringify({ model, stream: true, ...body(question) }),
      signal: patience(),
    });
    const text = await response.text();
    return { failed: response.status >= 400 || /"(?:error|response\.failed)"/.test(text), text };
  };
}

const messages = (content: string) => ({ messages: [{ role: "user", content }] });

const apis: readonly Api[] = [
  { name: "Chat Completions", ask: overHttp("/v1/chat/completions", messages) },
  { name: "Responses", ask: overHttp("/v1/responses", (input) => ({ input })) },
  { name: "Messages", ask: overHttp("/v1/messages", (content) => ({ max_tokens: 1000, ...messages(content) })) },
  { name: "the stream protocol", ask: overStream },
];

/** A stream of its own each time. A stream has no key but its name, and the same name is the same stream. */
async function overStream({ url, key: apiKey }: GatewayProcess, { model, text: question }: Question) {
  const options = { gateway: nodeLink({ url, key: apiKey }), store: openMemoryRecordStore() };
  const request = { model, messages: [{ role: "user" as const, text: question }] };
  try {
    const stream = await startReliableStream(request, options, patience());
    let text = "";
    for await (const event of stream.events) text += JSON.stringify(event);
    return { failed: text.includes('"failed"'), text };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { failed: true, text: `${error.message} ${error.hint}` };
  }
}

/** What goes wrong: by a directive in the prompt, or by what is done to the IDE while an answer is held in its middle. */
interface Fault {
  readonly name: string;
  readonly directive: string;
  readonly words: RegExp;
  /** Whether the account is refused, which then holds for the model. */
  readonly refuses: boolean;
}

const faults: readonly Fault[] = [
  { name: "quota", directive: "error=quota", words: /quota/i, refuses: true },
  { name: "rate limit", directive: "error=rate_limit", words: /limit/i, refuses: true },
  { name: "high demand", directive: "error=high_demand", words: /demand/i, refuses: true },
  { name: "high demand in the middle", directive: "error=high_demand error-after=40", words: /demand/i, refuses: true },
  { name: "internal at send", directive: "error=internal error-at=send", words: /error|broke/i, refuses: false },
  { name: "internal in the middle", directive: "error=internal error-after=40", words: /error/i, refuses: false },
];

let ide: Simulator;
let served: GatewayProcess;
/** A refusal holds for its model, so each cell with one asks another model; the rest ask the calm one. */
let models: string[];
let calm: string;
beforeAll(async () => {
  ide = await startSimulator({ turn: { rate: "instant", firstMs: 10, inputMs: 5, thinking: 0 } });
  served = await startGatewayProcess({ home: ide.home, args: ["--continuity", "off"] });
  const list = await fetch(`${served.url}/v1/models`, { headers: { authorization: `Bearer ${served.key}` } });
  [calm = "", ...models] = ((await list.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
});
afterAll(async () => {
  await served?.stop();
  await ide?.stop();
});

function modelFor({ refuses }: Fault): string {
  const next = refuses ? models.pop() : calm;
  if (next === undefined) throw new Error("the stand-in has fewer models than the matrix has cells");
  return next;
}

/** Prompts that reached the stand-in, those that it refused in the call included. */
async function prompts(): Promise<number> {
  return (await ide.report()).calls["SendUserCascadeMessage"] ?? 0;
}

/** A client that sends the same bytes again, as often as it is told of a failure. */
async function repeatedly(api: Api, question: Question, key: string | undefined): Promise<readonly Told[]> {
  const told: Told[] = [];
  for (let attempt = 0; attempt <= repeats; attempt++) {
    const sinceMs = performance.now();
    told.push({ ...(await api.ask(served, question, key)), tookMs: performance.now() - sinceMs });
  }
  return told;
}

function expectFailures(told: readonly Told[], words: RegExp): void {
  expect(told.map(({ failed }) => failed)).toEqual(told.map(() => true));
  for (const { text, tookMs } of told) {
    expect(text).toMatch(words);
    expect(tookMs).toBeLessThan(soonMs);
  }
}

const cells = apis.flatMap((api) =>
  api.ask === overStream ? [[api, false] as const] : [[api, false] as const, [api, true] as const],
);
const named = cells.map(([api, keyed]) => ({ api, keyed, how: `${api.name}, ${keyed ? "with" : "without"} a key` }));

describe.each(named)("over $how", ({ api, keyed }) => {
  test.each(faults)("$name costs one more prompt at most, and the client reads why", async (fault) => {
    const { directive, words } = fault;
    const question = { model: modelFor(fault), text: `[[sim: size=80 ${directive}]] ${randomUUID()}` };
    const before = await prompts();
    expectFailures(await repeatedly(api, question, keyed ? randomUUID() : undefined), words);
    expect((await prompts()) - before).toBeLessThanOrEqual(keyed ? 1 : 2);
  });
});

// the last one: it takes the IDE away
test("without an IDE every client reads soon what is missing, and nothing is sent", async () => {
  const { calls } = await ide.report();
  expect(calls["SendUserCascadeMessage"]).toBeGreaterThan(0);
  await ide.stop();
  const question = { model: calm, text: randomUUID() };
  const told = await Promise.all(cells.map(([api]) => api.ask(served, question, undefined)));
  for (const { failed, text } of told) {
    expect(failed).toBe(true);
    expect(text).toMatch(/No language server of Devin Desktop/);
  }
});
