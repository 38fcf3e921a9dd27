import { execFile } from "node:child_process";
import { promisify } from "node:util";
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, test } from "vitest";
import { ask, model, openai, patience, sharedWorld } from "../support/world.ts";

const rounds = 8;
const world = sharedWorld([]);
const run = promisify(execFile);

const messages = (content: string): [{ role: "user"; content: string }] => [{ role: "user", content }];

async function fetched(body: object): Promise<Response> {
  const { url, key } = world().served;
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    signal: patience(),
  });
}

async function curl(path: string, body: object): Promise<void> {
  const { url, key } = world().served;
  const headers = ["-H", `authorization: Bearer ${key}`, "-H", "content-type: application/json"];
  await run("curl", ["-sSNf", url + path, ...headers, "-d", JSON.stringify(body)], { signal: patience() });
}

function anthropic(): Anthropic {
  const { url, key } = world().served;
  return new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
}

/** Stops as soon as it has seen the mark, as clients do that close their connection after the last event. */
async function readTo(mark: string, response: Response): Promise<void> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.includes(mark)) return; // leaving the loop closes the connection
  }
  throw new Error(`no ${mark} in ${text}`);
}

const clients: Readonly<Record<string, (text: string) => Promise<unknown>>> = {
  "the OpenAI SDK, Chat Completions streamed": async (text) => {
    for await (const _ of await openai(world().served).chat.completions.create({ ...ask(text), stream: true }));
  },
  "the OpenAI SDK, Chat Completions": (text) => openai(world().served).chat.completions.create(ask(text)),
  "the OpenAI SDK, Responses streamed": async (text) => {
    for await (const _ of await openai(world().served).responses.create({ model, input: text, stream: true }));
  },
  "the OpenAI SDK, Responses": (text) => openai(world().served).responses.create({ model, input: text }),
  "the OpenAI SDK that leaves after the last event": async (text) => {
    const stream = await openai(world().served).responses.create({ model, input: text, stream: true });
    for await (const event of stream) if (event.type === "response.completed") break;
  },
  "the Anthropic SDK, streamed": (text) =>
    anthropic()
      .messages.stream({ model, max_tokens: 999, messages: messages(text) })
      .finalMessage(),
  "the Anthropic SDK": (text) => anthropic().messages.create({ model, max_tokens: 999, messages: messages(text) }),
  "fetch, streamed": async (text) => (await fetched({ ...ask(text), stream: true })).text(),
  "fetch, streamed, that closes at [DONE]": async (text) =>
    readTo("[DONE]", await fetched({ ...ask(text), stream: true })),
  fetch: async (text) => (await fetched(ask(text))).json(),
  "curl, streamed": (text) => curl("/v1/chat/completions", { ...ask(text), stream: true }),
  curl: (text) => curl("/v1/chat/completions", ask(text)),
  "curl that has its connection closed": (text) => {
    const { url, key } = world().served;
    const headers = [
      "-H",
      `authorization: Bearer ${key}`,
      "-H",
      "content-type: application/json",
      "-H",
      "connection: close",
    ];
    const body = JSON.stringify({ ...ask(text), stream: true });
    return run("curl", ["-sSNf", `${url}/v1/chat/completions`, ...headers, "-d", body], { signal: patience() });
  },
};

describe.each(Object.entries(clients))("%s", (name, read) => {
  test(`that has read its answer gets a new one for the same question, ${rounds} times of ${rounds}`, async () => {
    const text = `[[sim: size=3000 rate=instant]] ${name}.`;
    const prompts = async () => (await world().ide.report()).messages.filter((one) => one.text.includes(text)).length;
    for (let round = 1; round <= rounds; round++) {
      await read(text);
      expect(await prompts()).toBe(round);
    }
  });
});
