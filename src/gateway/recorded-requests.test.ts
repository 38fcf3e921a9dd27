import { readdirSync, readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withItsCalls } from "../../test/support/recorded-requests.ts";
import { isMillraceError } from "../base/errors.ts";
import type { ModelUid } from "../base/ids.ts";
import { layoutPrompt } from "../turns/prompt/layout.ts";
import { anthropicMessages } from "./dialects/anthropic-messages/encode.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { gemini } from "./dialects/gemini/encode.ts";
import { ollama } from "./dialects/ollama/encode.ts";
import { openAiChat } from "./dialects/openai-chat/encode.ts";
import { openAiResponses } from "./dialects/openai-responses/encode.ts";
import { fakeGateway } from "./gateway.fake.ts";

/** Requests of real clients, with every text replaced by ours: recorded by `npm test -- programs clients --update`. */
const corpus = new URL("../../test/corpus/requests/", import.meta.url);
const dialects: readonly (readonly [RegExp, Dialect])[] = [
  [/^\/v1\/chat\/completions/, openAiChat],
  [/^\/v1\/responses/, openAiResponses],
  [/^\/v1\/messages(?:\?|$)/, anthropicMessages],
  [/^\/api\/chat/, ollama],
  [/^\/v1beta\/models\/[^/]+:\w*[gG]enerateContent/, gemini],
];

interface Shape {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

const recorded = readdirSync(corpus).flatMap((file) => {
  const shapes = JSON.parse(readFileSync(new URL(file, corpus), "utf8")) as readonly Shape[]; // our own files
  return shapes.flatMap((shape, at) => {
    const dialect = dialects.find(([path]) => path.test(shape.path))?.[1];
    return dialect === undefined || shape.method !== "POST"
      ? []
      : [{ name: `${file} ${at + 1}`, dialect, path: shape.path, body: withItsModel(shape, dialect) }];
  });
});

/** A body as its route reads it: Gemini's has its model in the path. */
function withItsModel({ body }: Shape, dialect: Dialect): unknown {
  return dialect === gemini && typeof body === "object" ? { model: "m", ...body } : withItsCalls(body);
}

const model = { uid: "m" as ModelUid, number: undefined, contextTokens: undefined };

/** Every place in a body. */
function placesIn(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...path, key]))];
}

type Path = readonly string[];

function changed(body: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value;
  if (typeof body !== "object" || body === null) return body; // an earlier change took the place away
  const copy = (Array.isArray(body) ? [...body] : { ...body }) as Record<string, unknown>;
  copy[key] = changed(copy[key], rest, value);
  return copy;
}

function raise(name: string): never {
  throw new Error(`${name} is not recorded`);
}

/** The outcome of parsing a body; throws any error that is not ours. */
function outcome(dialect: Dialect, body: unknown): string {
  try {
    layoutPrompt(dialect.parse(body).request, model);
    return "understood";
  } catch (error) {
    if (isMillraceError(error)) return error.code;
    throw error;
  }
}

const hostile = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(undefined, -1, 1e308, [[null]], { type: "text" }, "__proto__", "x".repeat(5000)),
);
const known = "test-model"; // of the fake gateway

describe("requests of real clients", () => {
  it("are understood or refused in their API's form after any change of their members", async () => {
    const { request, turns, logged } = fakeGateway();
    turns.script = () => [
      { type: "text", delta: "Hi" },
      { type: "finished", reason: { unified: "stop", raw: undefined }, text: "Hi" },
    ];
    const all = recorded.map(({ dialect, ...each }) => {
      const path = each.path.replace(/(?<=models\/)[^:]+/, known);
      const body = dialect === gemini ? each.body : changed(each.body, ["model"], known);
      return { dialect, path, body, places: placesIn(body) };
    });
    const change = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), hostile);
    const changes = fc.array(change, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...all), changes, async ({ dialect, path, places, ...each }, made) => {
        const body = made.reduce<unknown>(
          (json, [at, value]) => changed(json, places[Math.floor(at * places.length)] ?? [], value),
          each.body,
        );
        expect(["understood", "invalid_request", "context_too_long"]).toContain(outcome(dialect, body));
        const response = await request(path, { method: "POST", body: JSON.stringify(body) ?? "" });
        const answer = await response.text();
        if (response.status === 200) return;
        expect(String(response.status)).toMatch(/^4/);
        expect([answer, isErrorOf(dialect, answer)]).toEqual([answer, true]);
      }),
      { numRuns: 600 },
    );
    expect(logged.filter(({ event }) => event === "unexpected error")).toEqual([]);
  });

  it("are recorded for every surface", () => {
    expect(new Set(recorded.map(({ dialect }) => dialect.name)).size).toBe(dialects.length);
  });

  it.each(["opencode-chat-completions-tools", "codex-responses-tools", "claude-code-messages-tools"])(
    "in the middle of a tool loop become the prompt that stands written: %s",
    async (name) => {
      const last = recorded.findLast((each) => each.name.startsWith(`${name}.json`));
      const { prompt, compacted } = layoutPrompt(last?.dialect.parse(last.body).request ?? raise(name), model);
      const written = [
        `compacted: ${compacted.join(", ")}`,
        `# instructions\n\n${prompt.instructions}`,
        `# text\n\n${prompt.text}`,
        ...prompt.messages.map(({ role, text }, at) => `# message ${at + 1}, ${role}\n\n${text}`),
      ];
      await expect(`${written.join("\n\n")}\n`).toMatchFileSnapshot(`./fixtures/${name}.prompt.txt`);
    },
  );

  for (const { name, dialect, body } of recorded) {
    it(`are understood and laid out: ${name}`, () => {
      const { request } = dialect.parse(body);
      const { prompt } = layoutPrompt(request, model);
      for (const tool of request.tools) expect(prompt.instructions).toContain(`## ${tool.name}`);
      expect(prompt.text).not.toBe("");
      expect(prompt.messages.at(-1)?.role).toBe("user");
    });
  }
});

/** Whether this body is an error in an API's own form. */
function isErrorOf(dialect: Dialect, body: string): boolean {
  const { error } = JSON.parse(body) as {
    readonly error: string | { readonly type?: string; readonly status?: string };
  };
  if (typeof error === "string") return dialect === ollama;
  if (dialect === gemini) return /^[A-Z_]+$/.test(error.status ?? "");
  return /^(?:invalid_request|not_found|request_too_large)/.test(error.type ?? "");
}

describe.each(["/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens", "/v1/responses"])("%s", (path) => {
  const { request } = fakeGateway();

  it("answers any bytes at all with a 4xx", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        expect((await request(path, { method: "POST", body: bytes })).status).toBe(400);
      }),
      { numRuns: 50 },
    );
  });

  it("survives deeply nested JSON", async () => {
    for (const field of ["messages", "input", "metadata", "anything"])
      for (const [open, close] of [
        ["[", "]"],
        ['{"a":', "}"],
      ] as const) {
        const deep = `${open.repeat(20_000)}1${close.repeat(20_000)}`;
        const body = `{"model":"${known}","${field}":${deep}}`;
        expect((await request(path, { method: "POST", body })).status).toBe(400);
      }
  });
});
