import type { Hono } from "hono";
import { MillraceError } from "../../base/errors.ts";
import { readJson } from "../http/body.ts";
import {
  callerOf,
  type Gateway,
  type GatewayContext,
  type GatewayEnv,
  notServed,
  respondError,
} from "../http/context.ts";
import { routes } from "./all-routes.ts";
import type { Route } from "./route.ts";

/** Mounts every declared route. Checks the caller and reads the body here, for all routes. */
export function mountRoutes(app: Hono<GatewayEnv>, gateway: Gateway): void {
  for (const route of routes) {
    app.on(route.method, mountedAt(route), async (c) => {
      if (route.guard === "owner" && !callerOf(c).owner) return ownersOnly(c);
      const params = c.req.param();
      if (route.body === undefined) return route.handle(gateway, c, { params, json: undefined });
      if (gateway.answering() > gateway.limits.mostOpen) throw overloaded();
      const coding = c.req.header("content-encoding") ?? "identity";
      if (coding !== "identity") return codedBody(c, coding);
      const body = await readJson(c.req.raw, gateway.limits.maxBodyBytes);
      if (body.tooLarge) return bodyTooLarge(c, gateway.limits.maxBodyBytes);
      return route.handle(gateway, c, { params, json: body.json });
    });
  }
}

/** A route's path as Hono writes it. */
function mountedAt({ path, takesSlashes = false }: Route): string {
  return takesSlashes ? path.replace(/\{\w+\}$/, "*") : path.replaceAll(/\{(\w+)\}/g, ":$1");
}

const openPaths = new Set(routes.filter(({ guard }) => guard === "open").map(({ path }) => path));
const served = routes.map((route) => ({
  ...route,
  shape: new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));
const list = `Served here: ${routes.map(({ method, path }) => `${method} ${path}`).join(", ")}.`;

/** Whether a route answers without a key: its answer tells only that a gateway is here. Source: docs/wire/clients.md, "HTTP and model lists". */
export function isOpen(method: string, path: string): boolean {
  return (method === "GET" || method === "HEAD") && openPaths.has(path);
}

/** Whether a session of the dashboard may ask this, of the routes that need a caller at all. */
export function isForDashboard(method: string, path: string): boolean {
  return served.some((route) => route.dashboard === true && route.method === method && route.shape.test(path));
}

/** Routes that other gateways have and that the models behind this one cannot serve. */
const unsupported =
  /^\/v1\/(embeddings|audio|images|moderations|files|batches|fine_tuning|assistants|threads|vector_stores|realtime|videos)(\/|$)/;

/** The answer for an unknown path: JSON that lists the routes. Source: docs/wire/clients.md, "HTTP and model lists". */
export function routeNotFound(c: GatewayContext): Response {
  if (unsupported.test(c.req.path)) return notServed(c, 501, `${c.req.path} is not supported.`, list);
  const others = served.filter(({ shape }) => shape.test(c.req.path)).map(({ method }) => method);
  if (others.length > 0) {
    const response = notServed(c, 405, `${c.req.method} is not served at ${c.req.path}.`, list);
    response.headers.set("allow", others.join(", "));
    return response;
  }
  return notServed(c, 404, `There is nothing at ${c.req.method} ${c.req.path.slice(0, 200)}.`, list);
}

function ownersOnly(c: GatewayContext): Response {
  const error = new MillraceError("unauthenticated", "Only the owner of the gateway may see this.", {
    hint: "Use the key that `millrace key` shows.",
  });
  return respondError(c, error, 403);
}

function bodyTooLarge(c: GatewayContext, maxBytes: number): Response {
  const limit = `${Math.floor(maxBytes / 1024 / 1024)} MB`;
  return notServed(c, 413, `The body is larger than ${limit}.`, "Send fewer or smaller images.");
}

/** Nothing is unpacked: a few bytes may unpack to more than there is memory. */
function codedBody(c: GatewayContext, coding: string): Response {
  const message = `Compressed bodies are not supported, and this one has content-encoding ${JSON.stringify(coding.slice(0, 60))}.`;
  return notServed(c, 415, message, "Send the body uncompressed, without content-encoding.");
}

/** Refused before its body is read; the same request is welcome a little later. Not all come back in the same moment. */
function overloaded(): MillraceError {
  return new MillraceError("unavailable", "The gateway has too many open requests.", {
    retryAfterMs: 1_000 + Math.random() * 4_000,
  });
}
