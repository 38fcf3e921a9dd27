import { readdirSync, readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { isObject } from "../base/json.ts";
import { anthropicMessages } from "./dialects/anthropic-messages/encode.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { ollama } from "./dialects/ollama/encode.ts";
import { openAiChat } from "./dialects/openai-chat/encode.ts";
import { openAiResponses } from "./dialects/openai-responses/encode.ts";

/** The forms of the requests of real clients in a whole session: recorded by `npm test -- programs clients --update`. */
const corpus = new URL("../../test/corpus/sessions/", import.meta.url);

interface Api {
  readonly path: string;
  readonly dialect: Dialect;
  /** Fields that are known and not read on purpose, and types of items, blocks and tools that are left out on purpose. */
  readonly leftOut: RegExp;
}

const apis: readonly Api[] = [
  {
    path: "/v1/chat/completions",
    dialect: openAiChat,
    leftOut:
      /^(?:temperature|store|file)$|\.(?:refusal|__copilotMessageSource|strict|cache_control|tool_calls\[\w+\]\.type)$/,
  },
  {
    path: "/v1/responses",
    dialect: openAiResponses,
    leftOut:
      /^(?:include|prompt_cache_key|client_metadata)$|^input\[[\w ]+\]\.(?:id|status)$|^input\[message \w+\]\.type$|\.(?:annotations|logprobs|detail)$/,
  },
  {
    path: "/v1/messages",
    dialect: anthropicMessages,
    leftOut:
      /^(?:metadata|context_management|thinking\.display|document)$|\.(?:cache_control|citations|defer_loading|caller|eager_input_streaming)$/,
  },
  { path: "/api/chat", dialect: ollama, leftOut: /^$/ },
];

interface Recording {
  readonly client: string;
  readonly version: string;
  readonly requests: readonly { readonly path: string; readonly body: unknown }[];
}

/** A part is read by its member where it has no type, and so is its source. What a PDF holds is read before (`src/gateway/pdf`). */
const partType =
  /\[(?:(?:in|out)put_)?(?:text|image|image_url|file)\]\.type$|\.source\.type$|\[document\]\.source\.data$/;

const recordings = readdirSync(corpus).map(
  (file) => JSON.parse(readFileSync(new URL(file, corpus), "utf8")) as Recording, // our own files
);

describe.each(recordings)("$client $version", ({ requests }) => {
  it.each(apis)("sends nothing to $path that is new", ({ path, dialect, leftOut }) => {
    const bodies = requests.filter((request) => request.path === path).map(({ body }) => withoutReferences(body));
    const found = new Set<string>();
    const seen = new Set<string>();
    for (const body of bodies) {
      const whole = outcome(dialect, body);
      for (const { name, way } of fieldsOf(body)) {
        if (seen.has(name) || [...found].some((unread) => name.startsWith(`${unread}.`))) continue;
        seen.add(name);
        if (isDeepStrictEqual(outcome(dialect, changed(body, way)), whole)) found.add(name);
      }
      const { leftOut: items = [], ignoredTools = [] } = dialect.parse(body);
      for (const type of [...items, ...ignoredTools]) found.add(type);
    }
    expect([...found].filter((name) => !leftOut.test(name) && !partType.test(name))).toEqual([]);
  });
});

/** A field of a body: its name with the kinds of the items that it stands in, and the way to it. */
interface Field {
  readonly name: string;
  readonly way: readonly (string | number)[];
}

function fieldsOf(value: unknown, name = "", way: Field["way"] = []): readonly Field[] {
  if (Array.isArray(value))
    return value.flatMap((item, at) => fieldsOf(item, `${name}[${kindOf(item)}]`, [...way, at]));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const own = { name: name === "" ? key : `${name}.${key}`, way: [...way, key] };
    return [own, ...fieldsOf(member, own.name, own.way)];
  });
}

function kindOf(item: unknown): string {
  if (!isObject(item)) return "";
  return [item["type"], item["role"]].filter((kind) => typeof kind === "string").join(" ");
}

/** What a dialect reads in a body, or why it refuses it. */
function outcome(dialect: Dialect, body: unknown): unknown {
  try {
    return dialect.parse(body);
  } catch (error) {
    return String(error);
  }
}

/** A value with one that no field takes in place of a field: a dialect that looks at the field then reads another request, or refuses it. */
function changed(value: unknown, [step, ...rest]: Field["way"]): unknown {
  if (step === undefined) return [[0]];
  if (Array.isArray(value)) return value.map((item, at) => (at === step ? changed(item, rest) : (item as unknown)));
  return isObject(value) ? { ...value, [step]: changed(value[step], rest) } : value;
}

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
