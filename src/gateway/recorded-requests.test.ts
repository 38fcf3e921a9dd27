import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ModelUid } from "../base/ids.ts";
import { layoutPrompt } from "../turns/prompt/layout.ts";
import { anthropicMessages } from "./dialects/anthropic-messages/dialect.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { openAiChat } from "./dialects/openai-chat/dialect.ts";
import { openAiResponses } from "./dialects/openai-responses/dialect.ts";

/** What real clients sent, with every text replaced by ours: recorded by `npm run test:clients -- --update`. */
const corpus = new URL("../../test/corpus/requests/", import.meta.url);
const dialects: readonly (readonly [RegExp, Dialect])[] = [
  [/^\/v1\/chat\/completions/, openAiChat],
  [/^\/v1\/responses/, openAiResponses],
  [/^\/v1\/messages(?:\?|$)/, anthropicMessages],
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
      : [{ name: `${file} ${at + 1}`, dialect, body: shape.body }];
  });
});

describe("requests of real clients", () => {
  it("are recorded for every surface", () => {
    expect(new Set(recorded.map(({ dialect }) => dialect.name)).size).toBe(dialects.length);
  });

  for (const { name, dialect, body } of recorded) {
    it(`are understood and laid out: ${name}`, () => {
      const { request } = dialect.parse(body);
      const { prompt } = layoutPrompt(request, { uid: "m" as ModelUid, number: undefined, contextTokens: undefined });
      for (const tool of request.tools) expect(prompt.instructions).toContain(`## ${tool.name}`);
      expect(prompt.text).not.toBe("");
      expect(prompt.messages.at(-1)?.role).toBe("user");
    });
  }
});
