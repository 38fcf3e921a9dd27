import type { Hono } from "hono";
import { type Gateway, type GatewayContext, type GatewayEnv, jsonResponse, notServed } from "../http/context.ts";
import { openApiDocument } from "./openapi.ts";
import { routeList } from "./route-list.ts";

/**
 * Whether a route answers without a key: such a route says that a gateway is here, and no more.
 * Source: docs/wire/clients.md, "HTTP and model lists".
 */
export function isOpen(method: string, path: string): boolean {
  return (
    (method === "GET" || method === "HEAD") && routeList.some((route) => route.open === true && route.path === path)
  );
}

/** Whether a session of the dashboard may ask this, of the routes that need a caller at all. */
export function isForDashboard(method: string, path: string): boolean {
  return served.some((route) => route.dashboard && route.method === method && route.shape.test(path));
}

const served = routeList.map(({ method, path, dashboard = false }) => ({
  method,
  path,
  dashboard,
  shape: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

/** What other gateways have and the models behind this one cannot do. */
const unsupported =
  /^\/v1\/(embeddings|audio|images|moderations|files|batches|fine_tuning|assistants|threads|vector_stores|realtime|videos)(\/|$)/;

const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Millrace</title>
<body><h1>Millrace</h1><p>This is a local gateway to the models of an IDE. Point a tool at <code>/v1</code> with the key
that <code>millrace key</code> shows.</p></body></html>
`;

/** `/`, `/health`, `/api/hello`, `/metrics`, `/openapi.json`. */
export function mountPlain(app: Hono<GatewayEnv>, gateway: Gateway): void {
  app.get("/", () => {
    const headers = { "content-type": "text/html; charset=utf-8", "content-security-policy": "default-src 'none'" };
    return new Response(page, { headers });
  });
  app.get("/api/hello", () => jsonResponse({ message: "hello" }));
  app.get("/openapi.json", () => jsonResponse(openApiDocument(gateway.version)));
  app.get("/metrics", async (c) => {
    const limits = await gateway.meter?.limits({ wait: false }, c.req.raw.signal);
    const measured = {
      limits,
      logBytes: gateway.logBytes?.(),
      degraded: gateway.storeState?.().degraded,
      damaged: (gateway.storeState?.().damaged ?? undefined) !== undefined,
      agents: await gateway.agents?.(),
    };
    const { text, contentType } = await gateway.metrics.write(measured);
    return new Response(text, { headers: { "content-type": contentType, "cache-control": "no-store" } });
  });
  app.get("/health", async (c) => {
    const health = { status: "ok", name: "millrace", instance: gateway.instance };
    if (c.var.caller === undefined) return jsonResponse(health);
    const details = await gateway.healthDetails?.(c.req.raw.signal);
    const store = gateway.storeState?.();
    return jsonResponse({
      ...health,
      version: gateway.version,
      ...(store === undefined ? {} : { store }),
      ...(details === undefined ? {} : { details }),
    });
  });
}

/** The answer for an unknown route: JSON that names the known ones. Source: docs/wire/clients.md, "HTTP and model lists". */
export function routeNotFound(c: GatewayContext): Response {
  const hint = `Served here: ${served.map(({ method, path }) => `${method} ${path}`).join(", ")}.`;
  if (unsupported.test(c.req.path)) return notServed(c, 501, `${c.req.path} is not supported.`, hint);
  const others = served.filter(({ shape }) => shape.test(c.req.path)).map(({ method }) => method);
  if (others.length > 0) {
    const response = notServed(c, 405, `${c.req.method} is not served at ${c.req.path}.`, hint);
    response.headers.set("allow", others.join(", "));
    return response;
  }
  return notServed(c, 404, `There is nothing at ${c.req.method} ${c.req.path.slice(0, 200)}.`, hint);
}
