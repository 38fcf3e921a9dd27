import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type BackendName, backends, standInFor } from "../matrix/stand-in.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { withItsCalls } from "../support/recorded-requests.ts";
import { gateway, patience } from "../support/world.ts";

const turn = { rate: "instant", firstMs: 1, inputMs: 1, thinking: 0 } as const;

async function world(backend: BackendName) {
  const standIn = await standInFor(backend, { turn });
  const served = await gateway({ home: standIn.ide.home, args: ["--continuity", "off"] });
  return { standIn, served };
}

async function post({ url, key }: GatewayProcess, path: string, body: object) {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: patience(),
  });
  return { status: response.status, text: await response.text() };
}

/** A recorded request refers to items of another gateway's answers; with those left out it stands for itself. */
function withoutReferences(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { input } = body;
  if (!Array.isArray(input)) return body;
  return { ...body, input: input.filter((item: { readonly type?: unknown }) => item.type !== "item_reference") };
}

/** Works on several at once: most of the time of each is waiting. */
async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const left = items.entries();
  const worker = async () => {
    for (const [at, item] of left) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: 6 }, worker));
  return results;
}

describe("what real clients sent, recorded", () => {
  interface Shape {
    readonly method: string;
    readonly path: string;
    readonly body: Readonly<Record<string, unknown>>;
  }
  const folder = new URL("../corpus/requests/", import.meta.url);
  const conversations = readdirSync(folder).map((file) => {
    const shapes = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as readonly Shape[]; // our own files
    return { file, shapes: shapes.filter(({ method }) => method === "POST") };
  });

  const withImages = conversations
    .flatMap(({ shapes }) => shapes)
    .filter(({ body }) => /"type":"(?:image|image_url|input_image)"|"images":\["/.test(JSON.stringify(body))).length;

  /** What an answer came to, whatever its words and its API. */
  function shapeOf({ status, text }: { readonly status: number; readonly text: string }) {
    const calls = text.match(/"type":"(?:tool_use|function_call|custom_tool_call)"|"function":\{"name"/g) ?? [];
    const failed = /"error":\{|"type":"(?:error|response\.failed)"/.test(text);
    return { status, failed, calls: calls.length > 0 };
  }

  const told = new Map<BackendName, unknown>();
  test.each(backends)("is answered with one prompt each over %s", async (backend) => {
    const { served, standIn } = await world(backend);
    const { model, ide } = standIn;
    const outcomes = await inParallel(conversations, async ({ file, shapes }) => {
      let before: string | undefined;
      const answers = [];
      for (const [at, { path, body }] of shapes.entries()) {
        const mark = { user: `${file} ${at}` }; // two clients may have sent the same words
        const previous = (body["previous_response_id"] ?? null) === null ? {} : { previous_response_id: before };
        const answer = await post(served, path.replace(/(\/models\/)[^/:]+/, `$1${model}`), {
          ...withItsCalls(withoutReferences(body)),
          ...mark,
          ...previous,
          model,
        });
        before = /"id":"(resp_[^"]+)"/.exec(answer.text)?.[1];
        answers.push(shapeOf(answer));
      }
      return [file, answers] as const;
    });
    const bad = outcomes.filter(([, answers]) => answers.some(({ status, failed }) => status !== 200 || failed));
    expect(bad).toEqual([]);
    const asked = conversations.reduce((sum, { shapes }) => sum + shapes.length, 0);
    expect((await standIn.prompts()).length).toBe(asked);
    const images = backend === "ACP" ? ide.prompts() : (await ide.report()).messages;
    told.set(backend, { outcomes, images: images.filter((prompt) => prompt.images.length > 0).length });
  });

  test("gives the same result over both", () => {
    expect(told.get("ACP")).toEqual(told.get("Cascade"));
    expect(told.get("ACP")).toMatchObject({ images: withImages });
  });
});
