import { describe, expect, it } from "vitest";
import { corsHeaders, preflight } from "./guard.ts";
import { clientOf, foldPath, graceMsOf, idempotencyKeyOf, projectOf, sessionOf } from "./request-headers.ts";

describe("what a request is for", () => {
  it.each([
    ["engine", "engine"],
    ["  ", undefined],
    ["项目", "项目"],
    ["/home/ada/café", "/home/ada/café"],
  ])("%j, in the bytes of UTF-8", (sent, project) => {
    const bytes = Buffer.from(sent).toString("latin1"); // as Node hands over what came
    expect(projectOf(new Headers({ "x-millrace-project": bytes }))).toBe(project);
  });

  it("is read in Latin-1 too", () => {
    expect(projectOf(new Headers({ "x-millrace-project": "caf\u00e9" }))).toBe("café");
  });
});

describe("the name of a client", () => {
  it.each([
    [{ "user-agent": "opencode/1.18.33 linux" }, "opencode/1.18.33"],
    [{ "user-agent": "connect-es/2.2.0", "x-millrace-client": "my-app/1.0" }, "my-app/1.0"],
    [{ "user-agent": "Mozilla/5.0 (X11)", "x-millrace-client": " my-page " }, "my-page"],
    [{ "user-agent": "opencode/1", "x-millrace-client": "(nobody)" }, "opencode/1"],
    [{}, undefined],
  ])("comes from %j: %s", (headers, client) => {
    expect(clientOf(new Headers(headers as Record<string, string>))).toBe(client);
  });

  it("can be set by a page of an allowed origin", () => {
    const origin = "https://app.example";
    const asked = { origin, "access-control-request-headers": "authorization, x-millrace-client" };
    expect(preflight(new Headers(asked)).headers["access-control-allow-headers"]).toContain("x-millrace-client");
    expect(corsHeaders(origin)).toMatchObject({ "access-control-allow-origin": origin, vary: "origin" });
  });
});

describe("a client's session", () => {
  it.each([
    [{ "x-claude-code-session-id": "s" }, "s"],
    [{ "x-session-id": " s " }, "s"],
    [{ "x-session-id": "s", "x-session-affinity": "s" }, "s"],
    [{ "session-id": "s", "thread-id": "t" }, "s/t"],
    [{ "session-id": "s", "thread-id": "u" }, "s/u"],
    [{ "thread-id": "t" }, "t"],
    [{ "x-session-id": "" }, undefined],
    [{}, undefined],
  ])("comes from %j: %s", (headers, session) => {
    expect(sessionOf(new Headers(headers as Record<string, string>))).toBe(session);
  });
});

describe("how long a turn continues without a reader", () => {
  it.each([
    [{}, "", undefined],
    [{ "x-millrace-grace": "90" }, "", 90_000],
    [{ "x-millrace-grace": "500ms" }, "grace=2m", 500],
    [{}, "grace=2m", 120_000],
    [{}, "grace=0", 0],
    [{}, "grace=detach", Infinity],
    [{ "x-millrace-grace": "detach" }, "", Infinity],
    [{ "x-millrace-grace": "90" }, "detach=1", Infinity],
    [{ "x-millrace-grace": "90" }, "detach=0", 90_000],
  ])("is said by %j and ?%s: %d", (headers, query, ms) => {
    expect(graceMsOf(new Headers(headers as Record<string, string>), new URLSearchParams(query))).toBe(ms);
  });

  it.each([
    [{ "x-millrace-grace": "1.5" }, "", "x-millrace-grace"],
    [{ "x-millrace-grace": "" }, "grace=2m", "x-millrace-grace"],
    [{}, "grace=soon", "grace"],
  ])("is refused as %j and ?%s, by the name of what said it", (headers, query, param) => {
    const parse = () => graceMsOf(new Headers(headers), new URLSearchParams(query));
    expect(parse).toThrow(expect.objectContaining({ code: "invalid_request", param }));
  });
});

describe("an idempotency key", () => {
  it.each([
    [{ "idempotency-key": "a b" }, "a b"],
    [{ "idempotency-key": '"a"', "x-idempotency-key": "a" }, "a"],
    [{ "x-idempotency-key": "k".repeat(255) }, "k".repeat(255)],
    [{}, undefined],
  ])("is read from %j", (headers, key) => {
    expect(idempotencyKeyOf(new Headers(headers as Record<string, string>))).toBe(key);
  });

  it.each([
    [{ "idempotency-key": "" }, /1 to 255 printable/],
    [{ "idempotency-key": '""' }, /1 to 255 printable/],
    [{ "idempotency-key": "k".repeat(256) }, /1 to 255 printable/],
    [{ "idempotency-key": "k\u00e9y" }, /1 to 255 printable/],
    [{ "idempotency-key": "a", "x-idempotency-key": "b" }, /two different keys/],
  ])("is refused as %j, in words that say why", (headers, why) => {
    expect(() => idempotencyKeyOf(new Headers(headers as Record<string, string>))).toThrow(why);
  });
});

describe("one table of doors: what people write before a route", () => {
  const doors = [
    "",
    "/v1",
    "/v1/v1",
    "//v1",
    "/openai/v1",
    "/openai",
    "/v1/openai",
    "/api/v1",
    "/anthropic/v1",
    "/anthropic",
  ];
  const routes = [
    "chat/completions",
    "completions",
    "responses",
    "messages",
    "messages/count_tokens",
    "models",
    "models/a",
  ];

  it.each(doors)("%s leads to the routes of version 1", (door) => {
    for (const route of routes) {
      expect(foldPath(`${door}/${route}`)).toBe(`/v1/${route}`);
      expect(foldPath(`${door}//${route}/`)).toBe(`/v1/${route}`);
      expect(foldPath(`/openai/deployments/m/${route}`)).toBe(`/v1/${route}`);
    }
  });

  it.each(["/api", "/v1/api", "/api/api", "/ollama/api"])("%s leads to Ollama's routes", (door) => {
    for (const route of ["chat", "generate", "tags", "show", "ps", "version", "embeddings", "pull"])
      expect(foldPath(`${door}/${route}/`)).toBe(`/api/${route}`);
  });

  it.each([
    ["/", "/"],
    ["/v1/", "/v1"],
    ["/v1/turns/t/events", "/v1/turns/t/events"],
    ["/v1/response", "/v1/responses"],
    ["/api/hello", "/api/hello"],
    ["/health", "/health"],
    ["/openapi.json", "/openapi.json"],
    ["/apiary/v1", "/apiary/v1"],
    ["/v1beta/models", "/v1beta/models"],
    ["/v1alpha/v1beta/models/a/b:high", "/v1beta/models/a/b:high"],
    ["/v1/models/a:streamGenerateContent", "/v1beta/models/a:streamGenerateContent"],
    ["/v1/models/a:high", "/v1/models/a:high"],
    ["/v1beta/openai/chat/completions", "/v1/chat/completions"],
    ["/v1beta/openai/models", "/v1/models"],
    ["/v1beta/openai/hologram", "/v1/hologram"],
    ["/v1beta/interactions", "/v1beta/interactions"],
    ["/v1/models/a:batchGenerateContent", "/v1beta/models/a:batchGenerateContent"],
    ["/api/v0/models", "/v1/models"],
    ["/api/v0/chat/completions", "/v1/chat/completions"],
    ["/api/v0/embeddings", "/api/embeddings"],
  ])("%s is %s", (path, folded) => expect(foldPath(path)).toBe(folded));
});
