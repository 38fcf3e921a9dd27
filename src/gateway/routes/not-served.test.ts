import { expect, it } from "vitest";
import { fakeGateway } from "../gateway.fake.ts";

/** How an error of each API looks, with its status where the body repeats it. */
const forms = {
  openai: (message: unknown) => ({ error: { message, type: "invalid_request_error" } }),
  anthropic: (message: unknown) => ({ type: "error", error: { type: expect.any(String), message } }),
  gemini: (message: unknown, code: number) => ({ error: { code, message, status: expect.any(String) } }),
  ollama: (error: unknown) => ({ error }),
};

const json = {};

it.each([
  ["openai", "GET /v1", 404, "There is nothing"],
  ["openai", "POST /v1/hologram", 404, "There is nothing"],
  ["openai", "GET /v1/chat/completions", 405, "Send POST"],
  ["openai", "GET /v1/responses/compact", 405, "Send POST"],
  ["openai", "POST /v1/models/a:medium", 405, "Send GET"],
  ["openai", "POST /v1beta/openai/chat/completionz", 404, "POST /v1/chat/completions?"],
  ["openai", "GET /gemini/openai/hologram", 404, "There is nothing"],
  ["anthropic", "POST /anthropic/hologram", 404, "There is nothing"],
  ["anthropic", "GET /anthropic/v1/messages", 405, "Send POST"],
  ["anthropic", "POST /v1/messages/hologram", 404, "There is nothing"],
  ["gemini", "POST /v1beta", 404, "part of the Gemini API"],
  ["gemini", "GET /v1beta/hologram", 404, "part of the Gemini API"],
  ["gemini", "POST /gemini/hologram", 404, "There is nothing"],
  ["gemini", "POST /v1beta/models/a", 404, "generateContent"],
  ["gemini", "POST /v1beta/models/a:hologram", 404, "method of a model is not served"],
  ["gemini", "POST /v1beta/models/a/b:c:generateAnswer", 404, "method of a model is not served"],
  ["gemini", "POST /v1/models/a:batchGenerateContent", 404, "method of a model is not served"],
  ["gemini", "POST /models/a:embedContent", 404, "Embeddings are not served"],
  ["gemini", "GET /v1beta/models/a:generateContent", 405, "Send POST"],
  ["gemini", "POST /v1beta/models", 405, "Send GET"],
  ["ollama", "GET /api", 404, "There is nothing"],
  ["ollama", "POST /ollama/hologram", 404, "There is nothing"],
  ["ollama", "GET /api/chat", 405, "Send POST"],
] as const)("in the form of %s, %s is %i: %s", async (api, asked, status, says) => {
  const [method = "", path = ""] = asked.split(" ");
  const response = await fakeGateway().request(path, { method, ...(method === "POST" ? { json } : {}) });
  const said: unknown = await response.json();
  expect([response.status, said]).toMatchObject([status, forms[api](expect.stringContaining(says), status)]);
});

it("LM Studio's address lists models as its programs need them", async () => {
  const { request } = fakeGateway();
  const model = { type: "vlm", publisher: "test-vendor", state: "loaded", compatibility_type: "gguf" };
  expect(await (await request("/api/v0/models")).json()).toMatchObject({
    object: "list",
    data: [{ id: "test-model", object: "model", ...model, max_context_length: 200_000 }, {}],
  });
  expect(await (await request("/api/v0/models/test-model")).json()).toMatchObject(model);
  expect(await (await request("/v1/models/test-model")).json()).not.toHaveProperty("state");
});
