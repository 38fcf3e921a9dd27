import { describe, expect, it } from "vitest";
import { proves } from "../../test/support/proves.ts";
import { MillraceError } from "../base/errors.ts";
import type { TurnEventBody } from "../log/event.ts";
import { fakeModelOf } from "../models/models.fake.ts";
import { fakeGateway } from "./gateway.fake.ts";

const chat = { model: "test-model", messages: [{ role: "user", content: "Hello" }] };
const answer: TurnEventBody[] = [
  { type: "text", delta: "Hi." },
  { type: "finished", reason: { unified: "stop", raw: undefined }, text: "Hi." },
];
const path = "/v1/chat/completions";

describe("routes", () => {
  it.each([
    ["HEAD", "/"],
    ["GET", "/"],
    ["HEAD", "/api/hello"],
    ["GET", "/health"],
    ["HEAD", "/health"],
  ])("answers %s %s without a key, below info level", async (method, route) => {
    proves("http.open-routes");
    const { request, logged } = fakeGateway();
    expect((await request(route, { method, headers: { authorization: "" } })).status).toBe(200);
    expect(logged.map((line) => line.level)).toEqual(["debug"]);
  });

  it("shows health details only to the owner", async () => {
    const { request } = fakeGateway({ healthDetails: async () => ({ ide: "windsurf 2.0" }) });
    const stranger = await (await request("/health", { headers: { authorization: "" } })).json();
    expect(stranger).toEqual({ status: "ok", name: "millrace" });
    expect(await (await request("/health")).json()).toMatchObject({
      version: "0.0.0-test",
      details: { ide: "windsurf 2.0" },
    });
  });

  it.each([
    "/v1/chat/completions",
    "/chat/completions",
    "/v1/v1/chat/completions",
    "/v1/chat/completions/",
    "//v1//chat/completions",
    "/v1/chat/completions?api-version=2024",
  ])("serves chat completions at %s", async (route) => {
    proves("http.aliases");
    const { request, turns } = fakeGateway();
    turns.script = () => answer;
    expect((await request(route, { json: chat })).status).toBe(200);
  });

  it.each(["/v1/models", "/models", "/v1/models/", "/v1/v1/models", "/v1/models?client_version=0.169.0"])(
    "lists models at %s",
    async (route) => {
      proves("http.aliases", "responses.aliases");
      const response = await fakeGateway().request(route);
      expect(await response.json()).toMatchObject({
        object: "list",
        data: [{ id: "test-model" }, { id: "claude-test:high" }],
      });
    },
  );

  it.each(["/v1/embeddings", "/embeddings", "/v1/audio/speech", "/v1/images/generations", "/v1/moderations"])(
    "answers %s with JSON that names what there is",
    async (route) => {
      proves("http.unsupported");
      const response = await fakeGateway().request(route, { json: {} });
      expect(response.status).toBe(404);
      const { error } = (await response.json()) as { error: { message: string } };
      expect(error.message).toContain("/v1/chat/completions");
    },
  );

  it("answers an unknown route 404 and a wrong method 405, in the caller's shape", async () => {
    const { request } = fakeGateway();
    expect((await request("/nowhere")).status).toBe(404);
    const wrong = await request(path);
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get("allow")).toBe("POST");
    const anthropic = await request("/v1/messages/nowhere");
    expect(await anthropic.json()).toMatchObject({ type: "error", error: { type: "not_found_error" } });
  });

  it("puts the same id on the response, in the error and in the log", async () => {
    proves("http.request-id");
    const { request, logged } = fakeGateway();
    const response = await request(path, { json: {} });
    const id = response.headers.get("x-request-id");
    expect(response.status).toBe(400);
    expect(id).toMatch(/^req_/);
    expect(await response.json()).toMatchObject({ error: { request_id: id } });
    expect(logged).toMatchObject([
      { event: "request", fields: { requestId: id, status: 400, code: "invalid_request" } },
    ]);
  });

  it("keeps a request id that the client gave, if it is one", async () => {
    const { request } = fakeGateway();
    const idFor = async (id: string) =>
      (await request("/health", { headers: { "x-request-id": id } })).headers.get("x-request-id");
    expect(await idFor("client-id-12345")).toBe("client-id-12345");
    expect(await idFor("has spaces and $")).toMatch(/^req_/);
  });
});

describe("models", () => {
  it("lists models that can be called, sorted, each once, with limits and a date that stays", async () => {
    proves("http.models");
    const { request, models, clock } = fakeGateway();
    models.models = [
      fakeModelOf("b"),
      fakeModelOf("a"),
      fakeModelOf("a"),
      fakeModelOf("c", { disabledReason: "not in your plan" }),
    ];
    const first = (await (await request("/v1/models")).json()) as { data: Record<string, unknown>[] };
    await clock.advance(60_000);
    expect(await (await request("/v1/models")).json()).toEqual(first);
    expect(first.data.map((model) => model.id)).toEqual(["b", "a"]);
    expect(first.data[0]).toMatchObject({
      object: "model",
      owned_by: "test-vendor",
      context_length: 200_000,
      max_output_tokens: 64_000,
    });
  });

  it.each([{ "anthropic-version": "2023-06-01" }, { "user-agent": "claude-cli/2.1.330 (external, cli)" }])(
    "lists in Anthropic's shape for %j, every id beginning as Claude Code wants it",
    async (headers) => {
      proves("http.anthropic-models");
      const body = await (await fakeGateway().request("/v1/models?limit=1000", { headers })).json();
      expect(body).toMatchObject({
        data: [
          {
            type: "model",
            id: "anthropic/test-model",
            display_name: "TEST-MODEL",
            created_at: "2025-01-01T00:00:00.000Z",
          },
          { type: "model", id: "claude-test:high" },
        ],
        has_more: false,
        first_id: "anthropic/test-model",
        last_id: "claude-test:high",
      });
    },
  );

  it("pages the Anthropic list", async () => {
    const ask = async (query: string) =>
      (await fakeGateway().request(`/v1/models?${query}`, { headers: { "anthropic-version": "1" } })).json();
    expect(await ask("limit=1")).toMatchObject({ data: [{ id: "anthropic/test-model" }], has_more: true });
    expect(await ask("limit=1&after_id=anthropic/test-model")).toMatchObject({
      data: [{ id: "claude-test:high" }],
      has_more: false,
    });
  });

  it.each(["claude-test:high", "claude-test%3Ahigh"])("finds /v1/models/%s", async (id) => {
    expect(await (await fakeGateway().request(`/v1/models/${id}`)).json()).toMatchObject({ id: "claude-test:high" });
  });

  it("finds an id with a slash, escaped or not, and what the Anthropic list offered", async () => {
    proves("http.models");
    const { request, models } = fakeGateway();
    models.models = [fakeModelOf("vendor/one"), fakeModelOf("two")];
    expect(await (await request("/v1/models/vendor/one")).json()).toMatchObject({ id: "vendor/one" });
    expect(await (await request("/v1/models/vendor%2Fone")).json()).toMatchObject({ id: "vendor/one" });
    const headers = { "anthropic-version": "1" };
    expect(await (await request("/v1/models/anthropic%2Ftwo", { headers })).json()).toMatchObject({
      id: "anthropic/two",
    });
    expect((await request("/v1/models/%E0%A4%A")).status).toBe(400);
  });

  it("answers an unknown model 404 with the nearest names, and starts no turn", async () => {
    proves("chat.unknown-model");
    const { request, turns } = fakeGateway();
    const response = await request(path, { json: { ...chat, model: "gpt-99" } });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      error: { code: "model_not_found", param: "model", details: { nearest: ["test-model", "claude-test:high"] } },
    });
    expect(turns.started).toEqual([]);
  });

  it("says in a 424 what was looked at, and that no repeat helps", async () => {
    const { request, models } = fakeGateway();
    const details = { trace: [{ stage: "candidates", subject: "pid 7", verdict: "rejected", why: "another program" }] };
    models.fails = new MillraceError("ide_not_running", "No IDE was found.", { details });
    const response = await request(path, { json: chat });
    expect(response.status).toBe(424);
    expect(await response.json()).toMatchObject({ error: { code: "ide_not_running", details } });
  });
});
