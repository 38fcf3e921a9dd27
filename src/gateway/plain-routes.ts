import type { Hono } from "hono";
import { type Gateway, type GatewayContext, type GatewayEnv, jsonResponse, notServed } from "./context.ts";

/** Routes that answer without a key: they say that something is here, and nothing about it. Source: client-contract row 54. */
export const openRoutes: readonly { readonly method: string; readonly path: string }[] = [
  { method: "GET", path: "/" },
  { method: "HEAD", path: "/" },
  { method: "GET", path: "/api/hello" },
  { method: "HEAD", path: "/api/hello" },
  { method: "GET", path: "/health" },
  { method: "HEAD", path: "/health" },
];

const served = [
  "POST /v1/chat/completions",
  "POST /v1/completions",
  "POST /v1/responses",
  "POST /v1/messages",
  "POST /v1/messages/count_tokens",
  "GET /v1/models",
  "GET /v1/turns",
  "GET /health",
];

/** What other gateways have and the models behind this one cannot do. */
const unsupported =
  /^\/v1\/(embeddings|audio|images|moderations|files|batches|fine_tuning|assistants|threads|vector_stores|realtime|videos)(\/|$)/;

const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Millrace</title>
<body><h1>Millrace</h1><p>This is a local gateway to the models of an IDE. Point a tool at <code>/v1</code> with the key
that <code>millrace key</code> shows.</p></body></html>
`;

/** `/`, `/health`, `/api/hello`. */
export function mountPlain(app: Hono<GatewayEnv>, gateway: Gateway): void {
  app.get("/", () => {
    const headers = { "content-type": "text/html; charset=utf-8", "content-security-policy": "default-src 'none'" };
    return new Response(page, { headers });
  });
  app.get("/api/hello", () => jsonResponse({ message: "hello" }));
  app.get("/health", async (c) => {
    const health = { status: "ok", name: "millrace", instance: gateway.instance };
    if (c.var.caller === undefined) return jsonResponse(health);
    const details = await gateway.healthDetails?.(c.req.raw.signal);
    return jsonResponse({ ...health, version: gateway.version, ...(details === undefined ? {} : { details }) });
  });
}

/** The answer where no route is: JSON that names what there is. Source: client-contract row 64. */
export function routeNotFound(c: GatewayContext): Response {
  const hint = `Served here: ${served.join(", ")}.`;
  if (unsupported.test(c.req.path)) return notServed(c, 501, `${c.req.path} is not supported.`, hint);
  const others = served.filter((route) => route.endsWith(` ${c.req.path}`)).map((route) => route.split(" ")[0] ?? "");
  if (others.length > 0) {
    const response = notServed(c, 405, `${c.req.method} is not served at ${c.req.path}.`, hint);
    response.headers.set("allow", others.join(", "));
    return response;
  }
  return notServed(c, 404, `There is nothing at ${c.req.method} ${c.req.path.slice(0, 200)}.`, hint);
}
