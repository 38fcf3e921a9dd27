import { isObject } from "../../base/json.ts";
import { callerOf, type Gateway, type GatewayContext } from "../http/context.ts";
import { decodedBody } from "../http/decoded-body.ts";
import { busy, Refusal } from "../http/refusal.ts";
import type { Reply } from "../http/reply.ts";
import { startsTurn } from "../http/route-headers.ts";
import { routes } from "./all-routes.ts";
import { fileReply } from "./dashboard-routes.ts";
import { refusalAt } from "./not-served.ts";
import type { Route, RouteInput } from "./route.ts";

/** Answers a request that the guard let pass; throws what the route throws. */
export type Router = (c: GatewayContext) => Reply | Promise<Reply>;

/** Every declared route, and the dashboard's files. Checks the caller and reads the body here, for all routes. */
export function openRouter(gateway: Gateway): Router {
  return (c) => {
    const method = c.method === "HEAD" ? "GET" : c.method;
    const file = method === "GET" && c.path !== "/" ? gateway.dashboard?.get(c.path) : undefined;
    if (file !== undefined) {
      c.route = c.path;
      return fileReply(file);
    }
    for (const route of served) {
      const match = route.method === method ? route.shape.exec(c.path) : null;
      if (match === null) continue;
      c.route = route.label;
      return answer(gateway, c, { route, params: decoded(match.groups ?? {}) });
    }
    throw refusalAt(c, served);
  };
}

function answer(
  gateway: Gateway,
  c: GatewayContext,
  { route, params }: { readonly route: Route; readonly params: RouteInput["params"] },
): Reply | Promise<Reply> {
  if (route.guard === "owner" && !callerOf(c).owner) throw ownersOnly();
  if (route.body === undefined) return route.handle(gateway, c, { params, json: undefined });
  // before its body is read
  if (gateway.answering() > gateway.limits.mostOpen) throw busy("The gateway has too many open requests.");
  if (c.json !== undefined) return route.handle(gateway, c, { params, json: c.json });
  const bytes = c.incoming.iterator({ destroyOnReturn: false }); // a refusal in the middle goes over the same connection
  return gateway.bodies.read(
    decodedBody(bytes, c.header("content-encoding")),
    (json) => route.handle(gateway, c, { params, json: withModel(json, c.deployment) }),
    { length: c.header("content-length"), isOwners: c.caller?.owner !== false },
  );
}

/** A body that names no model gets the one of its path. */
function withModel(json: unknown, model: string | undefined): unknown {
  return model !== undefined && isObject(json) && json["model"] === undefined ? { ...json, model } : json;
}

/** Parameters as their client meant them; one that is no valid escape stays as it came. */
function decoded(groups: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(groups).map(([name, value]) => {
      try {
        return [name, decodeURIComponent(value)];
      } catch {
        return [name, value];
      }
    }),
  );
}

const openRoutes = new Set(
  routes.filter(({ guard }) => guard === "open").map((route) => `${route.method} ${route.path}`),
);
const served = routes.map((route) => {
  const pattern = route.takesSlashes === true ? route.path.replace(/\{(\w+)\}$/, "(?<$1>.+)") : route.path;
  return {
    ...route,
    shape: new RegExp(`^${pattern.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
    /** As metrics name it. */
    label:
      route.takesSlashes === true ? route.path.replace(/\{\w+\}$/, "*") : route.path.replaceAll(/\{(\w+)\}/g, ":$1"),
  };
});

/** Whether a route answers without a key: its answer tells only that a gateway is here. Source: docs/dev/wire/clients.md, "HTTP and model lists". */
export function isOpen(method: string, path: string): boolean {
  return openRoutes.has(`${method === "HEAD" ? "GET" : method} ${path}`);
}

/** Whether a request asks for an answer of a model. */
export function startsTurnAt(method: string, path: string): boolean {
  return served.some((route) => route.headers === startsTurn && route.method === method && route.shape.test(path));
}

/** Whether a session of the dashboard may ask this, of the routes that need a caller at all. */
export function isForDashboard(method: string, path: string): boolean {
  return served.some((route) => route.dashboard === true && route.method === method && route.shape.test(path));
}

function ownersOnly(): Refusal {
  return new Refusal(403, "unauthenticated", "Only the owner of the gateway may see this.", {
    hint: "Use the key that `millrace keys` shows.",
  });
}
