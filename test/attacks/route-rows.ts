import { routes } from "../../src/gateway/routes/all-routes.ts";
import type { Route } from "../../src/gateway/routes/route.ts";

/** A request that a route answers when nothing is wrong with it: what an attack then spoils. */
interface Row {
  /** The path with its parameters filled in, and a query; the declared path otherwise. */
  readonly target?: string;
  readonly body?: object;
  /** The status of the honest request. */
  readonly status: number;
}

const model = "claude-sonnet-4.6";
const messages = [{ role: "user", content: "hello" }];
const contents = [{ role: "user", parts: [{ text: "hello" }] }];
const nobody = "turn_00000000000000000000000000";

/** One row a route: a route without its row fails the tests of this folder. */
const rows: Readonly<Record<string, Row>> = {
  "POST /v1/chat/completions": { body: { model, messages }, status: 200 },
  "POST /v1/completions": { body: { model, prompt: "echo: x" }, status: 200 },
  "POST /v1/responses": { body: { model, input: "hello" }, status: 200 },
  "POST /v1/responses/compact": { body: { model, input: "hello" }, status: 200 },
  "POST /v1/responses/input_tokens": { body: { model, input: "hello" }, status: 200 },
  "GET /v1/responses/{id}": { target: "/v1/responses/resp_none", status: 404 },
  "DELETE /v1/responses/{id}": { target: "/v1/responses/resp_none", status: 404 },
  "POST /v1/responses/{id}/cancel": { target: "/v1/responses/resp_none/cancel", status: 404 },
  "GET /v1/responses/{id}/input_items": { target: "/v1/responses/resp_none/input_items", status: 404 },
  "POST /v1/messages": { body: { model, messages, max_tokens: 99 }, status: 200 },
  "POST /v1/messages/count_tokens": { body: { model, messages }, status: 200 },
  "POST /api/chat": { body: { model, messages, stream: false }, status: 200 },
  "POST /api/generate": { body: { model, prompt: "hello", stream: false }, status: 200 },
  "GET /api/tags": { status: 200 },
  "POST /api/show": { body: { model }, status: 200 },
  "POST /api/pull": { body: { model, stream: false }, status: 200 },
  "GET /api/ps": { status: 200 },
  "GET /api/version": { status: 200 },
  "GET /v1beta/models": { status: 200 },
  "GET /v1beta/models/{id}": { target: `/v1beta/models/${model}`, status: 200 },
  "POST /v1beta/models/{id}:generateContent": {
    target: `/v1beta/models/${model}:generateContent`,
    body: { contents },
    status: 200,
  },
  "POST /v1beta/models/{id}:streamGenerateContent": {
    target: `/v1beta/models/${model}:streamGenerateContent`,
    body: { contents },
    status: 200,
  },
  "POST /v1beta/models/{id}:countTokens": {
    target: `/v1beta/models/${model}:countTokens`,
    body: { contents },
    status: 200,
  },
  "GET /v1/models": { status: 200 },
  "GET /v1/models/{id}": { target: `/v1/models/${model}`, status: 200 },
  "GET /dashboard/api/turns/search": { target: "/dashboard/api/turns/search?text=a", status: 200 },
  "GET /dashboard/api/turns/feed": { status: 200 },
  "GET /dashboard/api/turns/{id}/summary": { target: `/dashboard/api/turns/${nobody}/summary`, status: 404 },
  "GET /dashboard/api/turns/{id}/timeline": { target: `/dashboard/api/turns/${nobody}/timeline`, status: 404 },
  "GET /v1/turns": { status: 200 },
  "GET /v1/turns/{id}": { target: `/v1/turns/${nobody}`, status: 404 },
  "GET /v1/turns/{id}/events": { target: `/v1/turns/${nobody}/events`, status: 404 },
  "POST /v1/turns/{id}/cancel": { target: `/v1/turns/${nobody}/cancel`, status: 404 },
  "GET /v1/limits": { target: "/v1/limits?wait=0", status: 200 },
  "GET /dashboard/api/limits/history": { status: 200 },
  "GET /v1/usage": { status: 200 },
  "GET /dashboard/api/usage/days": {
    target: "/dashboard/api/usage/days?since=3d&time_zone=Europe/Berlin",
    status: 200,
  },
  "GET /dashboard/api/usage/bars": {
    target: "/dashboard/api/usage/bars?since=3d&bars=10&search=a",
    status: 200,
  },
  "GET /dashboard/api/usage/turns": {
    target: "/dashboard/api/usage/turns?search=a&sort=status&order=asc&offset=0&limit=10",
    status: 200,
  },
  "GET /metrics": { status: 200 },
  "GET /health": { status: 200 },
  "GET /api/hello": { status: 200 },
  "GET /dashboard/api/ides": { status: 200 },
  "GET /dashboard/api/keys": { status: 200 },
  "GET /dashboard/api/consents": { status: 200 },
  "POST /dashboard/api/consents": { body: { ide: "windsurf", agree: true }, status: 400 }, // a stand-in needs no consent
  "GET /dashboard/api/texts": { status: 200 },
  "POST /dashboard/api/texts": { body: { show: true, consent: true }, status: 409 }, // the key is no session
  "GET /dashboard/api/models": { status: 200 },
  "POST /dashboard/api/link": { status: 200 },
  "POST /dashboard/api/doors": { status: 200 },
  // with a key of its form the answer has no end
  "POST /dashboard/api/run-key": { body: { client: "attacks", key: "mrr_short" }, status: 400 },
  "POST /sign-in": { target: "/sign-in?code=none", status: 403 },
  "POST /sign-out": { status: 200 },
  "GET /": { status: 200 },
  "GET /openapi.json": { status: 200 },
};

export interface Target extends Row {
  readonly name: string;
  readonly route: Route;
  readonly target: string;
  /** The body as it is sent; empty where the route takes none. */
  readonly text: string;
}

/** Every declared route with its row. @throws Error where the two lists differ. */
export function targets(): readonly Target[] {
  const named = routes.map((route) => ({ name: `${route.method} ${route.path}`, route }));
  const names = new Set(named.map(({ name }) => name));
  for (const name of Object.keys(rows)) if (!names.has(name)) throw new Error(`There is no route ${name}.`);
  return named.map(({ name, route }) => {
    const row = rows[name];
    if (row === undefined) throw new Error(`${name} has no row in route-rows.ts: say how it is asked.`);
    const text = row.body === undefined ? "" : JSON.stringify(row.body);
    return { ...row, name, route, target: row.target ?? route.path, text };
  });
}
