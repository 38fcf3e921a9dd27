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
      : [{ name: `${file} ${at + 1}`, dialect, body: withItsModel(shape, dialect) }];
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

const hostile = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom<unknown>(undefined, -1, [[null]], "__proto__"));

describe("requests of real clients", () => {
  it("are understood or refused by name after any change of their members", () => {
    const all = recorded.map((each) => ({ ...each, places: placesIn(each.body) }));
    const change = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), hostile);
    fc.assert(
      fc.property(fc.constantFrom(...all), fc.array(change, { minLength: 1, maxLength: 4 }), (each, changes) => {
        const { dialect, places } = each;
        const body = changes.reduce<unknown>(
          (json, [at, value]) => changed(json, places[Math.floor(at * places.length)] ?? [], value),
          each.body,
        );
        expect(["understood", "invalid_request", "context_too_long"]).toContain(outcome(dialect, body));
      }),
      { numRuns: 400 },
    );
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
