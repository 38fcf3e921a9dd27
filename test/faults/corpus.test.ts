import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type BackendName, backends, standInFor } from "../matrix/stand-in.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { part } from "../support/long-suite.ts";
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

describe("what models write when they mean to call a tool", () => {
  interface Tool {
    readonly name: string;
    readonly kind: "function" | "freeform";
    readonly description: string;
    readonly parameters: object;
  }
  const folder = new URL("../corpus/tool-emissions/", import.meta.url);
  const read = (file: string) => readFileSync(new URL(file, folder), "utf8");
  const tools = JSON.parse(read("tools.json")) as readonly Tool[]; // our own file
  const cases = readdirSync(folder)
    .filter((file) => file.endsWith(".txt"))
    .flatMap((file) =>
      read(file)
        .split(/^#### /m)
        .slice(1),
    )
    .map(caseOf)
    .filter(({ settings, input }) => !settings.includes("@end length") && !input.includes("]]")); // a directive cannot say these

  function caseOf(block: string) {
    const [, name = "", settings = "", input = "", expected = ""] =
      /^([^\n]*)\n((?:@[^\n]*\n)*)<<<<\n([^]*?)\n?>>>>\n?([^]*)$/.exec(block) ?? [];
    return { name, settings, input, lines: expected.split("\n").filter((line) => line !== "") };
  }
  type Case = ReturnType<typeof caseOf>;

  function bodyOf({ settings, input }: Case, model: string): object {
    const setting = (key: string) => new RegExp(`^@${key} ?(.*)$`, "m").exec(settings)?.[1];
    const offered = setting("tools")?.split(" ");
    const choice = setting("choice");
    const named = choice?.startsWith("named:") === true ? choice.slice("named:".length) : undefined;
    const text = Buffer.from(input).toString("base64"); // a call that stands in the request is never one
    return {
      model,
      messages: [{ role: "user", content: `${randomUUID()} [[sim: hidden-text="${text}"]]` }],
      tools: tools
        .filter((tool) => offered === undefined || offered.includes(tool.name))
        .map(({ name, kind, description, parameters }) =>
          kind === "freeform"
            ? { type: "custom", custom: { name, description } }
            : { type: "function", function: { name, description, parameters } },
        ),
      tool_choice: named === undefined ? (choice ?? "auto") : { type: "function", function: { name: named } },
      parallel_tool_calls: setting("single") === undefined,
    };
  }

  /** The mark of a turn, which differs from run to run. */
  const anyMark = /(tool_call|tool_result)-\w{7}\b/g;

  interface Answer {
    readonly choices: readonly {
      readonly message: {
        readonly content: string | null;
        readonly tool_calls?: readonly {
          readonly function?: { readonly name: string; readonly arguments: string };
          readonly custom?: { readonly name: string; readonly input: string };
        }[];
      };
    }[];
  }

  /** An answer in the words of the corpus. */
  function linesOf({ status, text }: { readonly status: number; readonly text: string }): readonly string[] {
    if (status !== 200) return [`failed ${status}`];
    const [choice] = (JSON.parse(text) as Answer).choices;
    const calls = (choice?.message.tool_calls ?? []).map((call) =>
      call.custom === undefined
        ? `${call.function?.name} ${JSON.stringify(JSON.parse(call.function?.arguments ?? ""))}`
        : `${call.custom.name} ${JSON.stringify(call.custom.input)}`,
    );
    const content = (choice?.message.content ?? "").replaceAll(anyMark, "$1-MARK");
    return content === "" ? calls : [`text ${JSON.stringify(content)}`, ...calls];
  }

  /** What the corpus wants; undefined where the model is asked again, or texts stand around calls. */
  function wantedOf({ lines }: Case): readonly string[] | undefined {
    if (lines.some((line) => /^(?:problem|cut)/.test(line))) return undefined;
    const texts = lines.filter((line) => line.startsWith("text "));
    if (texts.length > 1 || lines.slice(1).some((line) => line.startsWith("text "))) return undefined;
    if (lines.length === 0) return undefined; // an empty answer fails before its calls are read
    return lines.map((line) => line.replace(/^(?:first_try|repaired) /, "").replaceAll(anyMark, "$1-MARK"));
  }

  const told = new Map<BackendName, ReadonlyMap<Case, readonly string[]>>();
  test.each(backends)("becomes the calls that the corpus names over %s", async (backend) => {
    const { served, standIn } = await world(backend);
    const some = part(cases, backend === "ACP" ? "1/1" : "1/5"); // emissions.test.ts reads each of them
    const outcomes = await inParallel(some, async (each) =>
      linesOf(await post(served, "/v1/chat/completions", bodyOf(each, standIn.model))),
    );
    const differ = some.flatMap((each, at) => {
      const wanted = wantedOf(each);
      return wanted === undefined || JSON.stringify(wanted) === JSON.stringify(outcomes[at])
        ? []
        : [{ name: each.name, wanted, got: outcomes[at] }];
    });
    expect(differ).toEqual([]);
    told.set(backend, new Map(some.map((each, at) => [each, outcomes[at] ?? []])));
  });

  test("gives the same result over both", () => {
    expect(told.get("ACP")?.size).toBeGreaterThan(250);
    for (const [each, lines] of told.get("Cascade") ?? [])
      expect([each.name, told.get("ACP")?.get(each)]).toEqual([each.name, lines]);
  });
});
