import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isObject } from "../base/json.ts";
import { anthropicMessages } from "./dialects/anthropic-messages/encode.ts";
import { messagesBody } from "./dialects/anthropic-messages/request.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { ollama } from "./dialects/ollama/encode.ts";
import { ollamaChatBody } from "./dialects/ollama/request.ts";
import { openAiChat } from "./dialects/openai-chat/encode.ts";
import { chatBody } from "./dialects/openai-chat/request.ts";
import { openAiResponses } from "./dialects/openai-responses/encode.ts";
import { responsesBody } from "./dialects/openai-responses/request.ts";

/** The forms of the requests of real clients in a whole session: recorded by `npm test -- programs clients --update`. */
const corpus = new URL("../../test/corpus/sessions/", import.meta.url);

interface Api {
  readonly path: string;
  readonly dialect: Dialect;
  readonly read: readonly string[];
  /** Fields of a body, and types of items, blocks and tools, that are known and left out on purpose. */
  readonly leftOut: readonly string[];
}

const apis: readonly Api[] = [
  { path: "/v1/chat/completions", dialect: openAiChat, read: Object.keys(chatBody.shape), leftOut: [] },
  {
    path: "/v1/responses",
    dialect: openAiResponses,
    read: Object.keys(responsesBody.shape),
    leftOut: ["include", "prompt_cache_key", "client_metadata"],
  },
  {
    path: "/v1/messages",
    dialect: anthropicMessages,
    read: Object.keys(messagesBody.shape),
    leftOut: ["metadata", "context_management", "document"],
  },
  { path: "/api/chat", dialect: ollama, read: Object.keys(ollamaChatBody.shape), leftOut: [] },
];

interface Recording {
  readonly client: string;
  readonly version: string;
  readonly requests: readonly { readonly path: string; readonly body: unknown }[];
}

const recordings = readdirSync(corpus).map(
  (file) => JSON.parse(readFileSync(new URL(file, corpus), "utf8")) as Recording, // our own files
);

describe.each(recordings)("$client $version", ({ requests }) => {
  it.each(apis)("sends nothing to $path that is new", ({ path, dialect, read, leftOut }) => {
    const bodies = requests.filter((request) => request.path === path).map(({ body }) => body);
    const known = new Set([...read, ...leftOut]);
    const fields = bodies.flatMap((body) => Object.keys(isObject(body) ? body : {}));
    expect([...new Set(fields)].filter((name) => !known.has(name))).toEqual([]);
    const types = bodies.flatMap((body) => {
      const { leftOut: items = [], ignoredTools = [] } = dialect.parse(withoutReferences(body));
      return [...items, ...ignoredTools];
    });
    expect([...new Set(types)].filter((name) => !leftOut.includes(name))).toEqual([]);
  });
});

/** A body in which each reference to a stored item, and each result of a stored call, has found what it names. */
function withoutReferences(body: unknown): unknown {
  if (!isObject(body) || !Array.isArray(body["input"])) return body;
  const items = body["input"].filter((item) => !isObject(item) || item["type"] !== "item_reference");
  const called = new Set(
    items.map((item) => (isObject(item) && item["type"] === "function_call" ? item["call_id"] : undefined)),
  );
  const input = items.flatMap((item) =>
    isObject(item) && item["type"] === "function_call_output" && !called.has(item["call_id"])
      ? [{ type: "function_call", call_id: item["call_id"], name: "bash" }, item]
      : [item],
  );
  return { ...body, input };
}
