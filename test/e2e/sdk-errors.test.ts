import Anthropic from "@anthropic-ai/sdk";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { standInFor } from "../matrix/stand-in.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { gateway } from "../support/world.ts";

/* Programs catch the error classes of their SDK. The status of the answer decides the class, whatever the backend. */

type Target = Pick<GatewayProcess, "url" | "key">;
type Ask = (target: Target, model: string, content: string) => Promise<unknown>;

const openAi = ({ url, key }: Target) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const anthropic = ({ url, key }: Target) => new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
const ollama = ({ url, key }: Target) => new Ollama({ host: url, headers: { Authorization: `Bearer ${key}` } });
const said = (content: string) => [{ role: "user" as const, content }];

async function drained(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream); // to its end, or its error
}

const ways: Readonly<Record<string, Ask>> = {
  "openai, chat": (at, model, text) => openAi(at).chat.completions.create({ model, messages: said(text) }),
  "openai, chat, streamed": async (at, model, text) =>
    drained(await openAi(at).chat.completions.create({ model, messages: said(text), stream: true })),
  "openai, responses": (at, model, input) => openAi(at).responses.create({ model, input }),
  "openai, responses, streamed": async (at, model, input) =>
    drained(await openAi(at).responses.create({ model, input, stream: true })),
  "anthropic, messages": (at, model, text) =>
    anthropic(at).messages.create({ model, max_tokens: 900, messages: said(text) }),
  "anthropic, messages, streamed": async (at, model, text) =>
    drained(await anthropic(at).messages.create({ model, max_tokens: 900, messages: said(text), stream: true })),
  "ollama, chat": (at, model, text) => ollama(at).chat({ model, messages: said(text) }),
  "ollama, chat, streamed": async (at, model, text) =>
    drained(await ollama(at).chat({ model, messages: said(text), stream: true })),
};

/** The name of the class; of Ollama's SDK, which has one for all, the status. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return `nothing: ${String(error)}`;
  const { name, constructor } = error;
  return "status_code" in error ? String(error.status_code) : constructor.name === "Error" ? name : constructor.name;
}

async function raised(asking: Promise<unknown>): Promise<string> {
  return asking.then(
    () => "no error",
    (error: unknown) => kindOf(error),
  );
}

interface Failure {
  readonly name: string;
  readonly content: string;
  readonly model?: string;
  readonly key?: string;
  /** Of openai and anthropic, and the status for Ollama. */
  readonly raises: string;
  /** Where Anthropic's API has a word of its own. */
  readonly raisesOfAnthropic?: string;
  readonly status: number;
}

const failures: readonly Failure[] = [
  { name: "an unknown model", content: "x", model: "no-such-model", raises: "NotFoundError", status: 404 },
  { name: "a wrong key", content: "x", key: "wrong", raises: "AuthenticationError", status: 401 },
  { name: "a quota", content: "[[sim: error=quota]]", raises: "RateLimitError", status: 429 },
  { name: "a rate limit", content: "[[sim: error=rate_limit]]", raises: "RateLimitError", status: 429 },
  {
    name: "a failure of the IDE",
    content: "[[sim: error=internal]]",
    raises: "InternalServerError",
    raisesOfAnthropic: "OverloadedError",
    status: 502,
  },
];

/** What each way raises; each asks a model of its own, because a refusal holds for its model. */
async function raisedByAll({ content, model, key }: Pick<Failure, "content" | "model" | "key">) {
  const { ide } = await standInFor("Cascade", { turn: { rate: "instant", firstMs: 10, inputMs: 5, thinking: 0 } });
  const served = await gateway({ home: ide.home, args: ["--continuity", "off"] });
  const models = (await openAi(served).models.list()).data.map(({ id }) => id);
  expect(models.length).toBeGreaterThanOrEqual(Object.keys(ways).length);
  const target = { url: served.url, key: key ?? served.key };
  return Promise.all(
    Object.entries(ways).map(async ([way, ask], at) => {
      const asked = ask(target, model ?? models[at] ?? "", `${content} ${way}`);
      return [way, await raised(asked)] as const;
    }),
  );
}

test.each(failures)(
  "each SDK raises its class for $name",
  async ({ raises, raisesOfAnthropic = raises, status, ...failure }) => {
    const classes = { ollama: String(status), anthropic: raisesOfAnthropic, openai: raises };
    const expected = Object.keys(ways).map((way) => [way, classes[way.split(",")[0] as keyof typeof classes]]);
    expect(await raisedByAll(failure)).toEqual(expected);
  },
);

test("each SDK raises something for half an answer", async () => {
  const told = await raisedByAll({ content: "count to 50 [[sim: error=internal error-after=40]]" });
  expect(told.filter(([, kind]) => kind === "no error")).toEqual([]);
});
