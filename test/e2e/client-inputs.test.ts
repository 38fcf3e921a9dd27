import zlib from "node:zlib";
import Anthropic from "@anthropic-ai/sdk";
import { expect, it } from "vitest";
import { patience, sharedWorld } from "../support/world.ts";

/* What users of such gateways really sent, one situation each, over a real gateway and the stand-in IDE. */

const at = sharedWorld([]);
const chat = "/v1/chat/completions";

interface Answer {
  readonly choices: readonly [
    {
      readonly message: { content: string; tool_calls?: readonly { function: { name: string; arguments: string } }[] };
    },
  ];
}

async function post(
  path: string,
  body: object | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
) {
  const { served } = at();
  const response = await fetch(`${served.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${served.key}`, "content-type": "application/json", ...headers },
    body: body instanceof Uint8Array ? body : JSON.stringify({ model: "swe-1.6", ...body }),
    signal: patience(),
  });
  const text = await response.text();
  return { status: response.status, text };
}

const user = (content: string) => ({ role: "user", content });
const tool = (parameters?: object) => ({ type: "function", function: { name: "t", parameters } });
const scripted = (given: string) => [user(`[[agent\ncall t ${given}\nsay ok\n]] go`)];

async function called(parameters: object | undefined, messages: readonly object[]) {
  const { status, text } = await post(chat, { tools: [tool(parameters)], messages });
  expect(status).toBe(200);
  return (JSON.parse(text) as Answer).choices[0].message.tool_calls?.[0]?.function.arguments;
}

const properties = { a: { type: "string" } };

it.each<[string, object | undefined]>([
  ["a reference", { $ref: "#/$defs/X", $defs: { X: { type: "object", properties } } }],
  ["no parameters", undefined],
])("a schema whose root is %s is called with the arguments that it says", async (_name, schema) => {
  expect(await called(schema, scripted('{"a":"x"}'))).toBe('{"a":"x"}');
});

it("pictures in results of tools reach the model, in four APIs", async () => {
  const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const url = `data:image/png;base64,${data}`;
  const call = { id: "c", type: "function", function: { name: "s", arguments: "{}" } };
  const result = (content: object) => ({ type: "tool_result", tool_use_id: "c", content: [content] });
  const source = { type: "base64", media_type: "image/png", data };
  const ask = user("echo-prompt");
  for (const [path, body] of [
    [
      chat,
      {
        messages: [
          user("x"),
          { role: "assistant", tool_calls: [call] },
          { role: "tool", tool_call_id: "c", content: [{ type: "image_url", image_url: { url } }] },
          ask,
        ],
      },
    ],
    [
      "/v1/messages",
      {
        max_tokens: 9000,
        messages: [
          user("x"),
          { role: "assistant", content: [{ type: "tool_use", id: "c", name: "s", input: {} }] },
          { role: "user", content: [result({ type: "image", source }), { type: "text", text: "echo-prompt" }] },
        ],
      },
    ],
    [
      "/v1/responses",
      {
        input: [
          user("x"),
          { type: "function_call", call_id: "c", name: "s", arguments: "{}" },
          { type: "function_call_output", call_id: "c", output: [{ type: "input_image", image_url: url }] },
          ask,
        ],
      },
    ],
    [
      "/v1beta/models/swe-1.6:generateContent",
      {
        contents: [
          { role: "user", parts: [{ text: "x" }] },
          { role: "model", parts: [{ functionCall: { name: "s", args: {} } }] },
          {
            role: "user",
            parts: [
              {
                functionResponse: {
                  name: "s",
                  response: { result: "y" },
                  parts: [{ inlineData: { mimeType: "image/png", data } }],
                },
              },
            ],
          },
          { role: "user", parts: [{ text: "echo-prompt" }] },
        ],
      },
    ],
  ] as const)
    expect((await post(path, body)).text).toContain(`--- image image/png ${data.length} ---`);
});

it("a body may be coded, once or twice; what is not in its coding is refused", async () => {
  const plain = (word: string) => Buffer.from(JSON.stringify({ model: "swe-1.6", input: `echo: ${word}` }));
  const zstd = (zlib as { readonly zstdCompressSync?: (bytes: Buffer) => Buffer }).zstdCompressSync;
  const codings: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
    ["gzip", zlib.gzipSync],
    ["deflate", zlib.deflateSync],
    ["br", zlib.brotliCompressSync],
    ["gzip, br", (bytes) => zlib.brotliCompressSync(zlib.gzipSync(bytes))],
    ...(zstd === undefined ? [] : [["zstd", zstd] as const]),
  ];
  for (const [coding, code] of codings) {
    const { status, text } = await post("/v1/responses", new Uint8Array(code(plain(coding))), {
      "content-encoding": coding,
    });
    expect([status, text.includes(coding)]).toEqual([200, true]);
  }
  const wrong = await post("/v1/responses", new Uint8Array(plain("x")), { "content-encoding": "gzip" });
  expect(wrong.status).toBe(400);
  const bomb = zlib.gzipSync(Buffer.alloc(100_000_000, 32));
  expect((await post("/v1/responses", new Uint8Array(bomb), { "content-encoding": "gzip" })).status).toBe(413);
  expect((await post("/v1/responses", new Uint8Array(plain("x")), { "content-encoding": "compress" })).status).toBe(
    415,
  );
});

it.each([false, true])(
  "the SDK's tool runner, which holds its history on the server, gets to the end of its loop (streamed: %s)",
  async (stream) => {
    const { served } = at();
    const client = new Anthropic({ baseURL: served.url, apiKey: served.key, maxRetries: 0 });
    const ran: string[] = [];
    const script = '[[agent\ncall t {"a":"one"}\n---\ncall t {"a":"two"}\n---\nsay tools said {results}\n]] go';
    const runner = client.beta.messages.toolRunner({
      model: "swe-1.6",
      max_tokens: 1000,
      stream,
      messages: [{ role: "user", content: script }],
      tools: [
        {
          name: "t",
          input_schema: { type: "object", properties },
          parse: (input) => input as { readonly a: string }, // as the script calls it
          run: ({ a }) => `${ran[ran.push(a) - 1]} done`,
        },
      ],
    });
    const { content } = await runner.runUntilDone();
    expect(ran).toEqual(["one", "two"]);
    expect(content).toMatchObject([{ type: "text", text: expect.stringMatching(/one done.*two done/s) }]);
  },
);

it("a request that names a thread is refused, and says what to send", async () => {
  const thread = { type: "continue", previous_message_id: "msg_1" };
  const { status, text } = await post("/v1/messages", { max_tokens: 9, messages: [user("x")], thread });
  const details = { error_code: "thread_unsupported_request", unsupported: ["thread"] };
  expect({ status, ...(JSON.parse(text) as object) }).toMatchObject({
    status: 400,
    error: { param: "thread", details },
  });
});
