import { describe, expect, it } from "vitest";
import { fakeGateway, fakeKey } from "../gateway.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire JSON of four APIs, looked into freely by these tests
type Json = Record<string, any>;

const messages = [{ role: "user", content: "Hi" }];
const big = "2512292042121000001";

function world(said = "Hello") {
  const fake = fakeGateway();
  fake.turns.script = () => [started, text(said), finished(said)];
  const post = async (path: string, body: Json | string, headers: Readonly<Record<string, string>> = {}) => {
    const init = typeof body === "string" ? { body, method: "POST" } : { json: { model: "test-model", ...body } };
    const response = await fake.request(path, { ...init, headers: { "content-type": "application/json", ...headers } });
    const written = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    return {
      status: response.status,
      headers: response.headers,
      written,
      json: (isJson ? JSON.parse(written) : {}) as Json,
    };
  };
  return { ...fake, post };
}

describe("a request for no tokens is answered without a prompt", () => {
  it.each<[string, Json, (json: Json) => unknown, unknown]>([
    [
      "/v1/chat/completions",
      { messages, max_tokens: 0 },
      (j) => [j.choices[0].message.content, j.choices[0].finish_reason],
      ["", "length"],
    ],
    ["/v1/chat/completions", { messages, max_completion_tokens: 0 }, (j) => j.choices[0].finish_reason, "length"],
    ["/v1/messages", { messages, max_tokens: 0 }, (j) => [j.content, j.stop_reason], [[], "max_tokens"]],
    [
      "/v1/responses",
      { input: "Hi", max_output_tokens: 0 },
      (j) => [j.output, j.status, j.store],
      [[], "incomplete", false],
    ],
    [
      "/api/chat",
      { messages, stream: false, options: { num_predict: 0 } },
      (j) => [j.message.content, j.done_reason],
      ["", "length"],
    ],
  ])("%s %j", async (path, body, read, expected) => {
    const { post, turns } = world();
    const whole = await post(path, body);
    expect(read(whole.json)).toEqual(expected);
    expect(whole.headers.get("x-millrace-answered-by")).toBe("gateway");
    const streamed = await post(path, { ...body, stream: true });
    expect(streamed.written).toMatch(/"length"|max_tokens|"incomplete"/);
    expect(turns.started).toEqual([]);
    expect((await post(path, { ...body, model: "no-such" })).status).toBe(404);
  });
});

describe("numbers of 64 bits and ends of lines", () => {
  it.each([
    [
      "/v1/messages",
      `{"model":"test-model","max_tokens":9,"tools":[{"name":"t","input_schema":{"type":"object","maximum":${big}}}],"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"t","input":{"id":${big}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}]}`,
    ],
    [
      "/api/chat",
      `{"model":"test-model","tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object","maximum":${big}}}}],"messages":[{"role":"assistant","content":"","tool_calls":[{"function":{"name":"t","arguments":{"id":${big}}}}]},{"role":"tool","content":"r"}]}`,
    ],
    [
      "/v1/chat/completions",
      `{"model":"test-model","tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object","maximum":${big}}}}],"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"t","arguments":{"id":${big}}}}]},{"role":"tool","tool_call_id":"c","content":"r"}]}`,
    ],
  ])("a number keeps its digits on the way through %s", async (path, body) => {
    const { post, turns } = world();
    expect((await post(path, body)).status).toBe(200);
    const { request } = turns.started[0] ?? {};
    const call = request?.messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []))[0];
    expect(call?.arguments).toBe(`{"id":${big}}`);
    expect(JSON.stringify(request?.tools[0]?.parameters)).toBe(`{"type":"object","maximum":${big}}`);
  });

  it("a call goes out with its digits in the APIs that write arguments as an object", async () => {
    const fake = world();
    const call = { type: "tool_call", callId: "c", name: "t", argumentsDelta: `{"id":${big}}`, done: true } as const;
    fake.turns.script = () => [started, call, finished("")];
    const tools = [{ type: "function", name: "t", input_schema: {}, function: { name: "t" } }];
    for (const path of ["/v1/messages", "/api/chat"])
      for (const stream of [false, true]) {
        const { written } = await fake.post(path, { messages, max_tokens: 9, tools, stream });
        expect(written).toMatch(new RegExp(`"(?:input|arguments)":\\{"id":${big}\\}|\\{\\\\"id\\\\":${big}\\}`));
      }
  });

  it.each(["/v1/chat/completions", "/v1/messages", "/v1/responses", "/api/chat"])(
    "no line of %s has an end of a line inside",
    async (path) => {
      const { post } = world("one\u2028two\u2029three\u0085four");
      for (const stream of [false, true]) {
        const { written } = await post(path, { messages, input: "Hi", max_tokens: 9, stream });
        expect(written).not.toMatch(/[\u0085\u2028\u2029]/);
        expect(written).toContain("one\\u2028two\\u2029three\\u0085four");
      }
    },
  );
});

it.each([
  ["/v1/chat/completions", `"messages":[{"role":"user","content":"x"}],"max_tokens":9223372036854775807`],
  ["/v1/chat/completions", `"messages":[{"role":"user","content":"x"}],"max_completion_tokens":1e20,"seed":${big}`],
  ["/v1/completions", `"prompt":"x","max_tokens":9223372036854775807`],
  ["/v1/responses", `"input":"x","max_output_tokens":9223372036854775807`],
  ["/v1/messages", `"messages":[{"role":"user","content":"x"}],"max_tokens":9223372036854775807`],
  [
    "/v1/messages",
    `"messages":[{"role":"user","content":"x"}],"max_tokens":${big},"thinking":{"type":"enabled","budget_tokens":${big}}`,
  ],
  ["/api/chat", `"messages":[{"role":"user","content":"x"}],"options":{"num_predict":${big}}`],
  ["/api/generate", `"prompt":"x","options":{"num_predict":1e300}`],
])("a limit that no double holds is the largest there is: %s %s", async (path, members) => {
  const { post, turns } = world();
  expect((await post(path, `{"model":"test-model",${members}}`)).status).toBe(200);
  expect(turns.started[0]?.request.maxOutputTokens).toBe(2 ** 31 - 1);
});

it.each([
  ["/v1/chat/completions", { messages, reasoning_effort: "ultra" }, undefined],
  ["/v1/responses", { input: "x", reasoning: { effort: "default" } }, undefined],
  ["/v1/messages", { messages, max_tokens: 9, output_config: { effort: "ultra" } }, undefined],
  ["/api/chat", { messages, think: "ultra" }, undefined],
  ["/v1/messages", { messages: [...messages, { role: "developer", output_config: { effort: "low" } }] }, "low"],
])(
  "%s: an effort that is not known leaves it to the model, and a directive may have either role: %j",
  async (path, body, effort) => {
    const { post, turns } = world();
    expect((await post(path, body)).status).toBe(200);
    expect(turns.started[0]?.request.reasoningEffort).toBe(effort);
  },
);

it.each(["/v1/chat/completions", "/v1/messages", "/api/chat"])(
  "%s reads a text by the name that another API gives it",
  async (path) => {
    const { post, turns } = world();
    const content = ["input_text", "output_text", "text"].map((type) => ({ type, text: type }));
    await post(path, { messages: [{ role: "user", content }] });
    expect(turns.started[0]?.request.messages[0]?.parts).toMatchObject(
      content.map(({ text: said }) => ({ text: said })),
    );
  },
);

const pdf = Buffer.from("%PDF-1.4\n%%EOF").toString("base64");
const pdfUrl = `data:image/png;base64,${pdf}`;

it.each<[string, object]>([
  ["/v1/chat/completions", { content: [{ type: "image_url", image_url: { url: pdfUrl } }] }],
  ["/v1/responses", { content: [{ type: "input_image", image_url: pdfUrl }] }],
  ["/v1/messages", { content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: pdf } }] }],
  ["/api/chat", { content: "x", images: [pdf] }],
])("%s: a PDF that is called a picture is none", async (path, said) => {
  const { post, turns } = world();
  const bring = { role: "user", ...said };
  const history = [bring, { role: "assistant", content: "y" }, { role: "user", content: "z" }];
  expect((await post(path, { messages: history, input: history })).status).toBe(200);
  const parts = turns.started[0]?.request.messages[0]?.parts ?? [];
  expect(parts.at(-1)).toMatchObject({ type: "text", text: expect.stringContaining("cannot read") });
});

describe("corners of Ollama", () => {
  it("tools may lack a type", async () => {
    const { post, turns } = world();
    await post("/api/chat", { messages, tools: [{ function: { name: "t", parameters: { type: "object" } } }] });
    expect(turns.started[0]?.request.tools).toMatchObject([{ name: "t", kind: "function" }]);
  });

  it("nothing is in this machine's memory", async () => {
    const { request } = world();
    expect(await (await request("/api/ps")).json()).toEqual({ models: [] });
  });

  it.each([
    ["/api/generate", { keep_alive: 0 }, { done_reason: "unload", response: "" }],
    ["/api/generate", { keep_alive: "0s" }, { done_reason: "unload", response: "" }],
    ["/api/generate", { keep_alive: -1 }, { done_reason: "load", response: "" }],
    ["/api/generate", { keep_alive: "10m" }, { done_reason: "load", response: "" }],
    ["/api/chat", {}, { done_reason: "load", message: { role: "assistant", content: "" } }],
    [
      "/api/chat",
      { messages: [], keep_alive: 0 },
      { done_reason: "unload", message: { role: "assistant", content: "" } },
    ],
  ])("%s without a question, %j", async (path, body, expected) => {
    const { post, turns } = world();
    expect((await post(path, body)).json).toMatchObject({ ...expected, done: true });
    expect(turns.started).toEqual([]);
  });

  it.each(["/api/generate", "/api/chat"])("%s without a question tells that there is no such model", async (path) => {
    const { status, json } = await world().post(path, { model: "nobody's" });
    expect([status, json["error"]]).toEqual([404, expect.stringContaining("not found")]);
  });

  it("the last line has durations that clients can divide by", async () => {
    const { post } = world();
    const { json } = await post("/api/chat", { messages, stream: false });
    for (const name of ["total_duration", "load_duration", "prompt_eval_duration", "eval_duration"])
      expect(json[name]).toBeGreaterThanOrEqual(1_000_000);
  });
});

describe("the forms of other providers", () => {
  it.each([
    "/openai/v1/chat/completions",
    "/openai/deployments/test-model/chat/completions?api-version=2026-01-01",
    "/openai/chat/completions",
  ])("%s is served, with the key in api-key", async (path) => {
    const { post, turns } = world();
    const { status } = await post(path, { messages }, { authorization: "", "api-key": fakeKey });
    expect(status).toBe(200);
    expect(turns.started[0]?.request.model).toBe("test-model");
    expect((await post(path, { messages }, { authorization: "", "api-key": `${fakeKey}x` })).status).toBe(401);
  });

  it("the path names the model where the body does not", async () => {
    const { post, turns } = world();
    await post("/openai/deployments/test-model/chat/completions", JSON.stringify({ messages }));
    expect(turns.started[0]?.request.model).toBe("test-model");
  });

  it("tells how many stop sequences are too many", async () => {
    const { post } = world();
    const { status, json } = await post("/v1/chat/completions", { messages, stop: "abcdefgh".split("") });
    expect([status, json.error.param]).toEqual([400, "stop"]);
    expect(json.error.message).toContain("At most 4 stop sequences are supported, and these are 8.");
  });

  it.each<[string, (stop: readonly string[]) => object, string]>([
    ["/v1/chat/completions", (stop) => ({ messages, stop }), "stop"],
    ["/v1/completions", (stop) => ({ prompt: "x", stop }), "stop"],
    ["/v1/messages", (stop) => ({ messages, max_tokens: 9, stop_sequences: stop }), "stop_sequences"],
    ["/api/chat", (stop) => ({ messages, options: { stop } }), "options.stop"],
    ["/api/generate", (stop) => ({ prompt: "x", options: { stop } }), "options.stop"],
  ])("%s takes stop sequences of 1,000 characters, no longer ones, and a bounded number", async (path, body, param) => {
    const { post, turns } = world();
    const model = "test-model";
    await post(path, { model, ...body(["x".repeat(1_000)]) });
    expect(turns.started).toHaveLength(1);
    const long = await post(path, { model, ...body(["x".repeat(1_001)]) });
    const many = await post(path, { model, ...body(Array.from({ length: 65 }, (_, at) => `end ${at}`)) });
    expect([long.status, many.status]).toEqual([400, 400]);
    expect(JSON.stringify(long.json)).toContain(`${param}: A stop sequence has at most 1,000 characters`);
    expect(JSON.stringify(many.json)).toMatch(/At most (?:4|64) stop sequences/);
    expect(turns.started).toHaveLength(1);
  });

  it.each(["image/jpg", "image/pjpeg", "IMAGE/JPG"])("a picture of type %s is a JPEG", async (type) => {
    const { post, turns } = world();
    const url = `data:${type};base64,/9j/4AAQSkZJRg==`;
    const content = [
      { type: "text", text: "x" },
      { type: "image_url", image_url: { url } },
    ];
    await post("/v1/chat/completions", { messages: [{ role: "user", content }] });
    expect(turns.started[0]?.request.messages[0]?.parts[1]).toMatchObject({ mimeType: "image/jpeg" });
  });
});

it("a request that shall generate nothing costs no prompt, streamed or whole", async () => {
  const { post, turns } = world();
  const whole = await post("/v1/responses", { input: "x", generate: false });
  expect([whole.status, whole.written.includes('"status":"completed"')]).toEqual([200, true]);
  const streamed = await post("/v1/responses", { input: "x", generate: false, stream: true });
  expect(streamed.written).toMatch(/event: response\.created[^]*event: response\.completed[^]*\[DONE\]/);
  expect(turns.started).toHaveLength(0);
});

it("a model that is there needs no fetching", async () => {
  const { post } = world();
  const pulled = await post("/api/pull", {});
  expect([pulled.status, pulled.written]).toEqual([200, '{"status":"success"}']);
});
