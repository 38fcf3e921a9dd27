import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { targets } from "../../../test/attacks/route-rows.ts";
import { type ErrorCode, errorCodes, MillraceError } from "../../base/errors.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import { reportsOf } from "../../usage/reports.ts";
import { snapshotOf } from "../../usage/snapshot.fake.ts";
import { fakeConsents } from "../consents.fake.ts";
import { encodeAnthropicError } from "../dialects/anthropic-messages/errors.ts";
import { encodeOpenAiError } from "../dialects/openai-errors.ts";
import { fakeGateway, idleMeter } from "../gateway.fake.ts";
import type { GatewayParts } from "../http/context.ts";
import { jsonResponse } from "../http/reply.ts";
import {
  everyAnswer,
  keptHeaderInfos,
  refusalHeaderInfos,
  startedHeaderInfos,
  startingHeaders,
  startsTurn,
} from "../http/route-headers.ts";
import { SseReader } from "../http/sse.fake.ts";
import { routes } from "./all-routes.ts";
import { answerHeaders, openApiDocument } from "./openapi.ts";
import { defineRoute } from "./route.ts";
import { signedIn, signInPath } from "./signed-in.fake.ts";

const guide = readFileSync(new URL("../../../docs/http-api.md", import.meta.url), "utf8");
const errorPage = readFileSync(new URL("../../../docs/help.md", import.meta.url), "utf8");
const answer: TurnEventBody[] = [
  { type: "text", delta: "Hi" },
  { type: "finished", reason: { unified: "stop", raw: undefined }, text: "Hi" },
];

it("every route has a row that says how the attacks ask it", () => {
  expect(targets()).toHaveLength(routes.length);
});

/** A gateway with all that a route may need, and a reading of one IDE. */
function wholeGateway() {
  const snapshot = snapshotOf({ readAtMs: 1000, usedFraction: 0.5, resetsAtMs: undefined });
  const reading = { snapshot, paces: [], expiresAtMs: 2000, stale: false };
  const history = openHistory({ file: ":memory:" });
  history.addSnapshot(snapshot);
  const fake = fakeGateway({
    meter: {
      ...idleMeter,
      limits: async () => ({ nowMs: 1000, readings: [reading], errors: [] }),
      ask: reportsOf(history),
    },
    consents: fakeConsents(),
    ides: async () => ({
      object: "ides",
      looked_at: "2025-06-01T00:00:00.000Z",
      data: [{ variant: "devin", product: "Windsurf", stand_in: false, build: "2.3", pid: null, state: "ready" }],
      findings: [],
      rejected: [],
    }),
  });
  fake.turns.script = () => answer;
  return fake;
}

describe("the list of routes", () => {
  it("hands no handler the whole gateway, nor parts of another group", () => {
    const reply = (body?: unknown) => jsonResponse({ body });
    // @ts-expect-error -- the parts of all groups
    defineRoute("models", "GET /a", { summary: "", handle: (parts: GatewayParts) => reply(parts) });
    // @ts-expect-error -- a list opens no request
    defineRoute("lists", "GET /a", { summary: "", handle: ({ turns }) => reply(turns.open) });
    expect(defineRoute("models", "GET /a", { summary: "", handle: ({ models }) => reply(models) }).path).toBe("/a");
  });

  it("is the OpenAPI file", async () => {
    const document = openApiDocument(routes, "0.0.0");
    await expect(stringify(document, { aliasDuplicateObjects: false })).toMatchFileSnapshot(
      "../../../docs/openapi.yaml",
    );
  });

  it("has the very headers of our own that answers about a turn carry, on every route", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const messages = [{ role: "user", content: "x" }];
    const bodies: Readonly<Record<string, object>> = {
      "/v1/chat/completions": { messages },
      "/v1/completions": { prompt: "x" },
      "/v1/responses": { input: "x" },
      "/v1/responses/compact": { input: "x" },
      "/v1/messages": { messages, max_tokens: 9 },
      "/api/chat": { messages },
      "/api/generate": { prompt: "x" },
    };
    const contents = [{ parts: [{ text: "x" }] }];
    const ask = (path: string) => ({ model: "test-model", contents, ...bodies[path] });
    const made = await fake.request("/v1/responses", { json: ask("/v1/responses") });
    const { id: response } = (await made.json()) as { readonly id: string };
    const turn = made.headers.get("x-millrace-turn") ?? "";
    const ofTurns = routes.filter((route) => route.headers !== undefined);
    expect(ofTurns.length).toBeGreaterThan(10);
    for (const route of ofTurns) {
      const ids = { "/turns": turn, "/models": "test-model" };
      const [, id = response] = Object.entries(ids).find(([list]) => route.path.includes(list)) ?? [];
      const path = route.path.replace("{id}", id);
      const init = route.headers === startsTurn ? { json: ask(path) } : {};
      const { status, headers } = await fake.request(path, { method: route.method, ...init });
      const own = [...headers.keys()].filter((name) => name.startsWith("x-millrace-") || name === "x-request-id");
      const said = answerHeaders(route);
      expect([path, status, own.filter((name) => !said.some((info) => info.name === name))]).toEqual([path, 200, []]);
      for (const { name, sometimes } of said)
        expect([path, name, sometimes === true || headers.has(name)]).toEqual([path, name, true]);
    }
  });

  it.each([...startingHeaders, ...keptHeaderInfos, ...startedHeaderInfos, ...refusalHeaderInfos, ...everyAnswer])(
    "has the header $name in the guide",
    ({ name }) => expect(guide).toContain(`\`${name}\``),
  );

  it("is served as OpenAPI, with this gateway's version", async () => {
    const { request } = fakeGateway();
    expect(await (await request("/openapi.json")).json()).toMatchObject({
      openapi: "3.1.0",
      info: { version: "0.0.0-test" },
    });
  });

  it("is the guide's list of routes, but for the stream protocol and the dashboard's own", () => {
    const [, list = ""] = guide.split("## Routes");
    const lines = list.split("\n\n", 2).join("\n").split("\n");
    const rows = lines
      .filter((line) => /^(?:- | {2})/.test(line) && !line.includes("/aiserver."))
      .flatMap((line) => [...line.matchAll(/`((?:GET|POST|DELETE) \/[^`]*)`/g)].map(([, route]) => String(route)));
    expect(rows.sort()).toEqual(
      routes
        .filter(({ path }) => !path.startsWith("/dashboard/api/"))
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    );
  });

  it("has no open route but those that docs/http-api.md names", () => {
    const page = readFileSync(new URL("../../../docs/http-api.md", import.meta.url), "utf8");
    const [row = ""] = /^- Every route but .*needs the gateway's key.*$/m.exec(page) ?? [];
    const named = [...row.matchAll(/`((?:GET|POST|DELETE) \/[^`]*)`/g)].map(([, route]) => String(route));
    const open = routes.filter(({ guard }) => guard === "open").map(({ method, path }) => `${method} ${path}`);
    expect(named.sort()).toEqual(open.sort());
  });

  it("declares the answer of every route that answers JSON", () => {
    const undeclared = routes.filter((route) => route.answer === undefined && route.answers === undefined);
    expect(undeclared.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });

  it.each(routes.filter(({ answer }) => answer !== undefined))(
    "answers $method $path as it declares",
    async ({ method, path, body, answer: declared }) => {
      const fake = wholeGateway();
      const made = await fake.request("/v1/responses", { json: { model: "test-model", input: "x" } });
      const { id } = (await made.json()) as { readonly id: string };
      const turn = made.headers.get("x-millrace-turn") ?? "";
      const json = {
        model: "test-model",
        messages: [{ role: "user", content: "x" }],
        contents: [{ parts: [{ text: "x" }] }],
        ...(/generate$|v1\/completions$/.test(path) ? { prompt: "x" } : {}),
        ...(path.startsWith("/api/") ? { stream: false } : {}),
        input: "x",
        max_tokens: 9,
        consent: true,
        ide: "windsurf",
        agree: true,
        once: "12345678",
        show: true,
      };
      const headers = path.endsWith("/texts") ? await signedIn(fake) : {}; // a key shows none
      const init = { method, headers, ...(body === undefined ? {} : { json }) };
      const ids = { "/models": "test-model", "/turns": turn, "/responses": id };
      const [, of = id] = Object.entries(ids).find(([list]) => path.includes(list)) ?? [];
      const link = (await (await fake.request("/dashboard/api/link", { method: "POST" })).json()) as { path: string };
      const asked = path === "/sign-in" ? signInPath(link.path) : path;
      const response = await fake.request(asked.replace("{id}", of), init);
      const said: unknown = await response.json();
      expect([response.status, said]).toEqual([200, said]);
      expect(declared?.safeParse(said)).toMatchObject({ success: true });
    },
  );

  it("names in the guide every header of our own that a request can have or an answer has", async () => {
    const { request, turns } = fakeGateway();
    turns.script = () => answer;
    const response = await request("/v1/responses", {
      json: { model: "test-model", input: "x", tools: [{ type: "web_search" }, { type: "function", name: "own" }] },
    });
    const names = [...response.headers.keys()].filter((name) => name.startsWith("x-millrace-"));
    expect(names.length).toBeGreaterThan(7);
    for (const name of [...names, "x-millrace-compacted", "x-millrace-grace", "x-millrace-project", "x-should-retry"]) {
      expect(guide).toContain(`\`${name}\``);
    }
  });
});

describe("the list of errors in docs/help.md", () => {
  const rows = [...errorPage.matchAll(/^- `([a-z_]+)` \((\d+)(?:, Anthropic (\d+))?; exit \d+\): /gm)];
  const codes = rows.map(([, code]) => code as ErrorCode); // a code that is none has no status, and fails below

  it("has every code", () => {
    expect(codes.sort()).toEqual(errorCodes.toSorted());
  });

  it.each(
    rows.map(([, code, openai, anthropic = openai]) => [code as ErrorCode, Number(openai), Number(anthropic)] as const),
  )("says of %s what is answered: %i and %i", (code, openai, anthropic) => {
    const record = new MillraceError(code, "x").toRecord();
    expect(encodeOpenAiError(record, "req").status).toBe(openai);
    expect(encodeAnthropicError(record, "req").status).toBe(anthropic);
  });
});

describe("GET /metrics", () => {
  it("needs a key, and counts requests by route, turns, streams and how they ended", async () => {
    const { request, turns } = fakeGateway();
    expect((await request("/metrics", { headers: { authorization: "" } })).status).toBe(401);
    turns.script = () => answer;
    const body = { model: "test-model", stream: true, messages: [{ role: "user", content: "x" }] };
    await new SseReader(await request("/v1/chat/completions", { json: body })).rest();
    const left = new SseReader(await request("/chat/completions", { json: { ...body, user: "2" } }));
    await left.next();
    await left.cancel();
    await request("/nowhere/42", { method: "PROPFIND" });
    const text = await (await request("/metrics")).text();
    expect(text).toContain('millrace_http_requests_total{method="POST",route="/v1/chat/completions",status="200"} 2');
    expect(text).toContain('millrace_http_requests_total{method="other",route="other",status="404"} 1');
    expect(text).toContain('millrace_turns_total{dialect="openai-chat",joined="no"} 2');
    expect(text).toContain('millrace_streams_ended_total{outcome="finished"} 1');
    expect(text).toContain('millrace_streams_ended_total{outcome="left"} 1');
    expect(text).toContain("millrace_streams_open 0");
    expect(text).toContain("millrace_degraded 0");
    expect(text).toContain('millrace_build_info{version="0.0.0-test"} 1');
    expect(text).not.toMatch(/nowhere|mr-test-key/);
  });
});

describe("limits and usage", () => {
  it("come from the meter", async () => {
    const { request } = fakeGateway({ meter: idleMeter });
    expect(await (await request("/v1/limits")).json()).toEqual({
      object: "list",
      now: "1970-01-01T00:00:01.000Z",
      data: [],
      errors: [],
    });
    expect(await (await request("/v1/limits?wait=0")).json()).toMatchObject({ now: "1970-01-01T00:00:00.000Z" });
    const query = "since=2025-06-01T00:00:00.000Z&by=day&time_zone=Europe%2FVienna";
    expect(await (await request(`/v1/usage?${query}`)).json()).toMatchObject({
      object: "usage",
      since: "2025-06-01T00:00:00.000Z",
      by: "day",
      time_zone: "Europe/Vienna",
    });
  });

  it("refuse what they cannot sum by, or since when", async () => {
    const { request } = fakeGateway({ meter: idleMeter });
    for (const query of ["by=mood", "since=tomorrow", "since=2999-01-01"]) {
      const response = await request(`/v1/usage?${query}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { param: query.split("=")[0] } });
    }
  });

  it("pass on what the meter refuses", async () => {
    const refusing = {
      ...idleMeter,
      ask: () => Promise.reject(new MillraceError("degraded", "The store is broken.")),
    };
    expect((await fakeGateway({ meter: refusing }).request("/v1/usage")).status).toBe(503);
  });
});
