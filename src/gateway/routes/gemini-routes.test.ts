import { describe, expect, it } from "vitest";
import type { CascadeId, ModelUid } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { fakeGateway, fakeKey } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";

const started: TurnEventBody = {
  type: "started",
  modelUid: "uid-test-model" as ModelUid,
  backend: "cascade",
  cascadeId: "c-1" as CascadeId,
};
const answer: readonly TurnEventBody[] = [
  started,
  { type: "thinking", delta: "hm" },
  { type: "text", delta: "Hi" },
  { type: "finished", reason: { unified: "stop", raw: undefined }, text: "Hi" },
];
const broken: readonly TurnEventBody[] = [
  started,
  { type: "text", delta: "Half" },
  { type: "failed", error: { code: "upstream_failed", message: "It broke.", hint: "Ask again." } },
];
const base = "/v1beta/models/test-model";
const json = { contents: [{ role: "user", parts: [{ text: "Hello" }] }] };

function gatewayWith(script: readonly TurnEventBody[] = answer) {
  const fake = fakeGateway();
  fake.turns.script = () => script;
  return fake;
}

describe("Gemini's routes", () => {
  it.each([
    base,
    "/v1beta/models/models/test-model",
    "/v1beta/v1beta/models/test-model",
    "/v1/models/test-model",
    "/models/test-model",
    "/gemini/v1beta/models/test-model",
    "/v1alpha/models/test%2Dmodel",
  ])("answer at %s", async (path) => {
    const response = await gatewayWith().request(`${path}:generateContent`, { json });
    expect(await response.json()).toMatchObject({
      candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP", index: 0 }],
      modelVersion: "test-model",
    });
  });

  it("stream events, with an id only for a client that can resume, and an array without `alt=sse`", async () => {
    const { request } = gatewayWith();
    const text = async (query: string, headers = {}) =>
      (await request(`${base}:streamGenerateContent${query}`, { json, headers })).text();
    const events = await text("?alt=sse");
    expect(events).toMatch(/^(?:data: \{.+\}\n\n)+$/);
    expect(events).toContain('"finishReason":"STOP"');
    expect(await text("?alt=sse", { "idempotency-key": "k" })).toMatch(/^(?:id: .+\ndata: \{.+\}\n\n)+$/);
    expect(JSON.parse(await text(""))).toHaveLength(2);
  });

  it("resume a stream behind the last event that its client has", async () => {
    const { request } = gatewayWith();
    const ask = (headers: Record<string, string>) =>
      request(`${base}:streamGenerateContent?alt=sse`, { json, headers });
    const [first, ...rest] = await new SseReader(await ask({ "idempotency-key": "k" })).rest();
    const again = await new SseReader(await ask({ "last-event-id": first?.id ?? "" })).rest();
    expect(again).toEqual(rest);
  });

  it("end a broken stream with Google's error", async () => {
    const response = await gatewayWith(broken).request(`${base}:streamGenerateContent?alt=sse`, { json });
    const events = await new SseReader(response).rest();
    expect(JSON.parse(events.at(-1)?.data ?? "")).toMatchObject({
      error: {
        code: 502,
        status: "UNAVAILABLE",
        message: "It broke. Ask again.",
        millrace: { code: "upstream_failed" },
      },
    });
  });

  it("list the models, also at `/v1/models` for a program of Google's", async () => {
    const { request } = fakeGateway();
    const shown = {
      name: "models/test-model",
      supportedGenerationMethods: expect.arrayContaining(["countTokens"]) as unknown,
    };
    const headers = { "x-goog-api-client": "google-genai-sdk/2.32.0 gl-node/v22.13.0" };
    for (const path of ["/v1beta/models?pageSize=5", "/v1/models", "/gemini/v1beta/models"]) {
      const { models } = (await (await request(path, { headers })).json()) as { readonly models: readonly unknown[] };
      expect(models).toContainEqual(expect.objectContaining(shown));
    }
    expect(await (await request(base)).json()).toMatchObject(shown);
    expect(await (await request("/v1beta/openai/models")).json()).toMatchObject({ object: "list" });
  });

  it("count tokens, of a body or of the request inside it", async () => {
    const { request } = fakeGateway();
    const count = async (body: object) => (await request(`${base}:countTokens`, { json: body })).json();
    expect(await count(json)).toEqual({ totalTokens: expect.any(Number) as number });
    expect(await count({ generateContentRequest: { model: "models/test-model", ...json } })).toEqual(await count(json));
  });

  it("take the key from the address or Google's header, and log none", async () => {
    const { request, logged } = gatewayWith();
    const ask = (query: string, headers = {}) =>
      request(`${base}:generateContent${query}`, { json, headers: { authorization: "", ...headers } });
    expect((await ask(`?key=${fakeKey}`)).status).toBe(200);
    expect((await ask("", { "x-goog-api-key": fakeKey })).status).toBe(200);
    expect(JSON.stringify(logged)).not.toContain(fakeKey);
    const refused = await ask("?key=another");
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({ error: { code: 401, status: "UNAUTHENTICATED" } });
  });

  it("name what is wrong in Google's form", async () => {
    const { request } = fakeGateway();
    const unserved = await request("/v1beta/cachedContents", { json });
    expect(unserved.status).toBe(404);
    expect(await unserved.json()).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
    const unknown = await request("/v1beta/models/no-such-model:generateContent", { json });
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({
      error: {
        code: 404,
        status: "NOT_FOUND",
        message: expect.stringMatching(/^models\/.+ is not found for API version v1beta/) as string,
      },
    });
    const wrong = await request(`${base}:generateContent`, { json: { contents: [], cachedContent: "x" } });
    expect(await wrong.json()).toMatchObject({
      error: { code: 400, status: "INVALID_ARGUMENT", param: "cachedContent" },
    });
  });

  it.each([
    "/v1beta/interactions",
    "/v1beta/cachedContents",
    `${base}:batchEmbedContents`,
    `${base}:predict`,
    "/upload/v1beta/files",
  ])("do not have %s, and say so also without a key", async (path) => {
    const response = await fakeGateway().request(path, { json: {}, headers: { authorization: "" } });
    expect(response.status).toBe(404);
    expect(JSON.stringify(await response.json())).toMatch(/not served/);
  });
});
