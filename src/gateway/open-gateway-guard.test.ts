import { describe, expect, it } from "vitest";
import { proves } from "../../test/support/proves.ts";
import { MillraceError } from "../base/errors.ts";
import { Secret } from "../base/secret.ts";
import { fakeGateway, fakeKey, guestKey, noParts } from "./gateway.fake.ts";
import { openGateway } from "./open-gateway.ts";

const path = "/v1/chat/completions";

describe("the guard", () => {
  it.each([
    ["GET", "/health"],
    ["GET", "/"],
    ["POST", path],
    ["OPTIONS", path],
    ["GET", "/v1/models"],
  ])("turns a foreign Host away from %s %s, with or without the key", async (method, route) => {
    const { request } = fakeGateway();
    const response = await request(route, { method, headers: { host: "evil.example" } });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ error: { code: "invalid_request" } });
  });

  it.each(["127.0.0.1", "127.0.0.1:42100", "localhost:1", "LOCALHOST", "[::1]:8080"])(
    "serves Host %s",
    async (host) => {
      const { request } = fakeGateway();
      expect((await request("/health", { headers: { host } })).status).toBe(200);
    },
  );

  it.each(["localhost.evil.example", "127.0.0.1.nip.io", "localhost@evil.example", "0.0.0.0", "[::1].evil"])(
    "does not serve Host %s",
    async (host) => {
      const { request } = fakeGateway();
      expect((await request("/health", { headers: { host } })).status).toBe(403);
    },
  );

  it("turns every origin away that is not allowed by name, also one equal to the Host", async () => {
    const { request } = fakeGateway({ allowedOrigins: ["https://app.example"] });
    const from = async (origin: string) => (await request("/v1/models", { headers: { origin } })).status;
    expect(await from("https://app.example")).toBe(200);
    expect(await from("https://evil.example")).toBe(403);
    expect(await from("http://127.0.0.1:42100")).toBe(403);
    expect(await from("null")).toBe(403);
  });

  it("never answers with a wildcard, and names an allowed origin only to itself", async () => {
    const { request } = fakeGateway({ allowedOrigins: ["https://app.example"] });
    const origins = [{}, { origin: "https://app.example" }, { origin: "https://evil.example" }];
    const names = await Promise.all(
      origins.map(async (headers) =>
        (await request("/health", { headers })).headers.get("access-control-allow-origin"),
      ),
    );
    expect(names).toEqual([null, "https://app.example", null]);
  });

  it("takes the key as a bearer token or as x-api-key", async () => {
    proves("messages.auth");
    const { request } = fakeGateway();
    const withHeaders = async (headers: Record<string, string>) =>
      (await request("/v1/models", { headers: { authorization: "", ...headers } })).status;
    expect(await withHeaders({ authorization: `Bearer ${fakeKey}` })).toBe(200);
    expect(await withHeaders({ authorization: `bearer  ${guestKey}` })).toBe(200);
    expect(await withHeaders({ "x-api-key": fakeKey })).toBe(200);
    expect(await withHeaders({ authorization: "Bearer placeholder", "x-api-key": fakeKey })).toBe(200);
  });

  it.each([
    [{}, "The request has no key."],
    [{ authorization: "Bearer " }, "has no bearer key"],
    [{ authorization: `Basic ${fakeKey}` }, "has no bearer key"],
    [{ authorization: fakeKey }, "has no bearer key"],
    [{ authorization: "Bearer $MILLRACE_API_KEY" }, "is a placeholder"],
    [{ "x-api-key": "{env:MILLRACE_API_KEY}" }, "is a placeholder"],
    [{ "api-key": `"mr_${"a".repeat(43)}"` }, "is not whole"],
    [{ "x-goog-api-key": `mrk_${"a".repeat(42)}` }, "is not whole"],
    [{ "x-api-key": `mr_${"a".repeat(43)}` }, "does not know the key"],
    [{ "x-api-key": `${fakeKey}x` }, "does not know the key"],
    [{ authorization: "Bearer sk-other", "x-api-key": `mrk_${"a".repeat(43)}` }, "millrace keys create"],
  ])("answers %j with 401 and says why", async (headers, why) => {
    const { request } = fakeGateway();
    const response = await request("/v1/models", { headers: { authorization: "", ...headers } });
    expect(response.status).toBe(401);
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    expect(error).toMatchObject({
      code: "invalid_api_key",
      message: expect.stringContaining(why),
      type: "authentication_error",
      millrace: { code: "unauthenticated" },
    });
    expect(JSON.stringify(error)).not.toContain("aaaaa");
  });

  it("takes no key from the query", async () => {
    const { request } = fakeGateway();
    expect(
      (await request(`/v1/models?key=${fakeKey}&api_key=${fakeKey}`, { headers: { authorization: "" } })).status,
    ).toBe(401);
  });

  it("does not open without a key, or with a key that is easy to guess", () => {
    const options = { ...fakeGateway(), ...noParts, log: { write() {} }, version: "", instance: "" };
    const open = (keys: { name: string; key: Secret }[]) => () => openGateway({ ...options, keys });
    expect(open([])).toThrow(MillraceError);
    expect(open([{ name: "k", key: new Secret("") }])).toThrow(/shorter than 16/);
    expect(open([{ name: "k", key: new Secret("changeme") }])).not.toThrow(/changeme/);
  });

  it("answers preflights of allowed origins with the headers they ask for, cleaned", async () => {
    proves("http.preflight");
    const { request } = fakeGateway({ allowedOrigins: ["https://app.example"] });
    const response = await request(path, {
      method: "OPTIONS",
      headers: {
        authorization: "",
        origin: "https://app.example",
        "access-control-request-headers": "Authorization, x-stainless-os, bad header, x:y",
        "access-control-request-private-network": "true",
      },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-headers")).toBe("authorization, x-stainless-os");
    expect(response.headers.get("access-control-allow-private-network")).toBe("true");
    expect(response.headers.get("access-control-max-age")).toBe("600"); // seconds
    expect(response.headers.get("access-control-allow-origin")).toBe("https://app.example");
    const foreign = await request(path, { method: "OPTIONS", headers: { origin: "https://evil.example" } });
    expect(foreign.status).toBe(403);
    expect(foreign.headers.get("access-control-allow-private-network")).toBeNull();
  });

  it("answers a preflight without an origin with what is allowed, and no CORS", async () => {
    const response = await fakeGateway().request(path, { method: "OPTIONS", headers: { authorization: "" } });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("the log of refused requests", () => {
  it("has one line for many, and no key that stands in a path", async () => {
    const { request, logged: log, clock } = fakeGateway();
    const key = "sk-proj-Abcdefgh0123456789Abcdefgh0123456789";
    for (let n = 0; n < 1_000; n++) await request("/v1/models", { headers: { authorization: "" } });
    await clock.advance(10_000);
    const refused = log.filter(({ event }) => event === "refused");
    expect(refused.map(({ fields }) => fields)).toEqual([
      { status: 401, client: "unknown" },
      { status: 401, client: "unknown", requests: 999 },
    ]);
    await request(`/${key}/v1/models?key=${key}`);
    await request(`/x%2F${encodeURIComponent(key)}`);
    await request(`/v1/models/${fakeKey}`);
    expect(log.some(({ event }) => event === "request")).toBe(true);
    expect(JSON.stringify(log)).not.toMatch(/Abcdefgh0123456789|mr-test-key/);
  });
});
