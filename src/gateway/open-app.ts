import { Hono } from "hono";
import { matchedRoutes } from "hono/route";
import { MillraceError } from "../base/errors.ts";
import { sortableId } from "../base/ids.ts";
import { addCors, type Gateway, type GatewayContext, type GatewayEnv, respondError } from "./http/context.ts";
import { preflight } from "./http/cors.ts";
import { authenticate, type GuardPolicy, ownerOf, refuseForeign, unauthenticated } from "./http/guard.ts";
import { foldPath } from "./http/paths.ts";
import { headerSafe } from "./http/request-headers.ts";
import { storeHeader } from "./http/store-header.ts";
import { mountFiles } from "./routes/dashboard-routes.ts";
import { isForDashboard, isOpen, mountRoutes, routeNotFound } from "./routes/mount-routes.ts";
import { onRouteError } from "./routes/turn-route.ts";

/** The gateway as a function from request to response: guard, then routes. `policy` may gain origins later. */
export function openApp(gateway: Gateway, policy: GuardPolicy): Hono<GatewayEnv> {
  const app = new Hono<GatewayEnv>({ getPath: (request) => foldPath(new URL(request.url).pathname) });
  app.use(async (c, next) => {
    const startedAt = gateway.clock.monotonic();
    const requestId = requestIdOf(c.req.raw.headers, gateway.clock.now());
    c.set("requestId", requestId);
    c.set("logFields", {});
    const refused = guard(gateway, policy, c);
    if (refused === undefined) await next();
    else c.res = refused;
    finish(gateway, c, requestId);
    const ms = gateway.clock.monotonic() - startedAt;
    gateway.metrics.request(
      knownMethods.has(c.req.method) ? c.req.method : "other",
      routeOf(c),
      c.res.status,
      ms / 1000,
    );
    logRequest(gateway, c, ms);
  });
  app.options("*", (c) => preflight(c.req.raw.headers));
  mountFiles(app, gateway);
  mountRoutes(app, gateway);
  app.notFound(routeNotFound);
  app.onError(onRouteError(gateway));
  return app;
}

const knownMethods = new Set(["GET", "HEAD", "POST", "DELETE", "OPTIONS"]);

/** The route that answered, as it was mounted; all unknown paths share one label. */
function routeOf(c: GatewayContext): string {
  return (
    matchedRoutes(c).find(({ path, method }) => method !== "ALL" && !path.startsWith("*") && path !== "/*")?.path ??
    "other"
  );
}

/** Host and Origin on every request; the key on all but the open routes and preflights. */
function guard(gateway: Gateway, policy: GuardPolicy, c: GatewayContext): Response | undefined {
  const { headers } = c.req.raw;
  const foreign = refuseForeign(policy, headers);
  if (foreign !== undefined) return respondError(c, MillraceError.fromRecord(foreign.error), foreign.status);
  const { method, path } = c.req;
  const inSession = () => gateway.sessions.isSignedIn(headers) && isForDashboard(method, path);
  const caller = authenticate(policy, headers) ?? (inSession() ? ownerOf(policy) : undefined);
  c.set("caller", caller);
  const open =
    method === "OPTIONS" || isOpen(method, path) || (method === "GET" && gateway.dashboard?.has(path) === true);
  if (caller !== undefined || open) return undefined;
  const refusal = unauthenticated();
  const response = respondError(c, MillraceError.fromRecord(refusal.error), refusal.status);
  response.headers.set("www-authenticate", 'Bearer realm="millrace"');
  return response;
}

/**
 * The headers of every response: the id that is also in the log, the IDE and the store's weaknesses if the caller has a key, and CORS
 * for an allowed origin (the guard refused the others). If the request sent no prompt, the IDE is the one that would get a prompt now.
 */
function finish(gateway: Gateway, c: GatewayContext, requestId: string): void {
  const { headers } = c.res;
  if (c.var.caller !== undefined && !headers.has("x-millrace-ide")) {
    const ide = gateway.ideOf?.(c.var.logFields.model);
    if (ide !== undefined) headers.set("x-millrace-ide", headerSafe(ide));
  }
  const weak = c.var.caller === undefined ? undefined : storeHeader(gateway);
  if (weak !== undefined) headers.set("x-millrace-store", weak);
  headers.set("x-request-id", requestId);
  headers.set("request-id", requestId);
  headers.set("x-content-type-options", "nosniff");
  if (c.res.status !== 403 && c.req.method !== "OPTIONS") addCors(headers, c.req.header("origin") ?? null);
}

/**
 * The client's own request id if it is a plain one, ours otherwise. Ours has no 4 and no 5: OpenCode treats an error whose body has
 * 429 or 503 anywhere in it as temporary.
 */
function requestIdOf(headers: Headers, nowMs: number): string {
  const given = headers.get("x-request-id") ?? headers.get("x-client-request-id");
  if (given !== null && /^[\w.:-]{8,100}$/.test(given)) return given;
  return `req_${sortableId(nowMs).replaceAll("4", "i").replaceAll("5", "l")}`; // letters that such an id never has
}

function logRequest(gateway: Gateway, c: GatewayContext, ms: number): void {
  const { status } = c.res;
  const quiet = isOpen(c.req.method, c.req.path);
  const level = status >= 500 ? "warn" : quiet ? "debug" : "info";
  gateway.log.write(level, "request", {
    requestId: c.var.requestId,
    method: c.req.method,
    path: headerSafe(c.req.path),
    status,
    ms: Math.round(ms),
    caller: c.var.caller?.name,
    ...c.var.logFields,
  });
}
