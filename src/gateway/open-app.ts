import type { IncomingMessage, ServerResponse } from "node:http";
import { bestEffort } from "../base/async.ts";
import { isMillraceError, MillraceError } from "../base/errors.ts";
import { isObject } from "../base/json.ts";
import type { Bodies } from "./http/body.ts";
import { GatewayContext, type GatewayParts, type RouteParts, respondError } from "./http/context.ts";
import { decodedBody } from "./http/decoded-body.ts";
import { authenticate, corsHeaders, type GuardPolicy, ownerOf, preflight, refuseForeign } from "./http/guard.ts";
import { busy } from "./http/refusal.ts";
import type { RefusedBook } from "./http/refused.ts";
import { callerHeaders, type Reply, send } from "./http/reply.ts";
import { clientOf, loggedPath } from "./http/request-headers.ts";
import { startsTurn } from "./http/route-headers.ts";
import { unauthenticated } from "./http/wrong-key.ts";
import { fileReply } from "./routes/dashboard-routes.ts";
import { unservedApi } from "./routes/not-served.ts";
import { routeAt, routeOf } from "./routes/router.ts";

const knownMethods = new Set(["GET", "HEAD", "POST", "DELETE", "OPTIONS"]);
const noPath =
  '{"error":{"message":"The request target must be a path.","type":"invalid_request_error","param":null,"code":"invalid_request"}}';

/** What is decided by before a route is found, and what each group of routes is handed. */
export interface Gateway
  extends Pick<GatewayParts, "clock" | "log" | "metrics" | "sessions" | "dashboard" | "stopping" | "storeState"> {
  readonly routes: RouteParts;
  readonly refused: RefusedBook;
  readonly bodies: Bodies;
  readonly limits: { readonly maxBodyBytes: number; readonly mostOpen: number };
  /** How many requests are being answered now. */
  answering(): number;
  /** The product that a prompt to this model goes to now, for `x-millrace-ide`; undefined where none is known. */
  readonly ideOf?: (modelUid: string | undefined) => string | undefined;
}

/**
 * Answers requests: guard, then routes. `policy` may gain origins later. `json`: a body that was read before. The promise resolves when the response is over, and rejects only
 * with our own bugs.
 */
export function openApp(
  gateway: Gateway,
  policy: GuardPolicy,
): (incoming: IncomingMessage, response: ServerResponse, json?: unknown) => Promise<void> {
  const { clock, metrics } = gateway;
  const refusals = new RefusedRequests(gateway);
  return async (incoming, response, json) => {
    const startedAt = clock.monotonic();
    const c = contextOf(incoming, response, clock.now(), json);
    if (c === undefined) {
      response.writeHead(400, { "content-type": "application/json", connection: "close" });
      response.end(noPath);
      return;
    }
    const reply = await replyTo(gateway, policy, c);
    finish(gateway, c, reply);
    const ms = clock.monotonic() - startedAt;
    const method = knownMethods.has(c.method) ? c.method : "other";
    metrics.request(method, c.route ?? "other", reply.status, ms / 1000);
    if (c.caller === undefined && reply.status >= 400)
      refusals.count(reply.status, gateway.refused.nameOf(clientOf(c.headers)));
    else logRequest(gateway, c, reply.status, ms);
    await send(reply, response);
    incoming.resume(); // the rest of a refused body, or the next request on this connection would never be read
  };
}

/** Undefined for a target that is no path (`GET http://elsewhere/`), or that no URL can hold. */
function contextOf(...request: ConstructorParameters<typeof GatewayContext>): GatewayContext | undefined {
  try {
    return new GatewayContext(...request);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

async function replyTo(gateway: Gateway, policy: GuardPolicy, c: GatewayContext): Promise<Reply> {
  try {
    guard(gateway, policy, c);
    return c.method === "OPTIONS" ? preflight(c.headers) : await handle(gateway, c);
  } catch (error) {
    const reply = errorReply(gateway, c, error);
    noteRefused(gateway, c, error);
    return reply;
  }
}

/** A file of the dashboard, or the answer of a declared route. Bodies are read here, for all routes. */
function handle(gateway: Gateway, c: GatewayContext): Reply | Promise<Reply> {
  const isFile = (c.method === "GET" || c.method === "HEAD") && c.path !== "/";
  const file = isFile ? gateway.dashboard?.get(c.path) : undefined;
  if (file !== undefined) {
    c.route = c.path;
    return fileReply(file);
  }
  const { route, params } = routeOf(c);
  if (route.body === undefined) return route.handle(gateway.routes, c, { params, json: undefined });
  // before its body is read
  if (gateway.answering() > gateway.limits.mostOpen) throw busy("The gateway has too many open requests.");
  if (c.json !== undefined) return route.handle(gateway.routes, c, { params, json: c.json });
  const bytes = c.incoming.iterator({ destroyOnReturn: false }); // a refusal in the middle goes over the same connection
  return gateway.bodies.read(
    decodedBody(bytes, c.header("content-encoding")),
    (json) => route.handle(gateway.routes, c, { params, json: withModel(json, c.deployment) }),
    { length: c.header("content-length"), isOwners: c.caller?.owner !== false },
  );
}

/** A body that names no model gets the one of its path. */
function withModel(json: unknown, model: string | undefined): unknown {
  return model !== undefined && isObject(json) && json["model"] === undefined ? { ...json, model } : json;
}

/** A request for an answer that became no turn: no list of turns tells of it. */
function noteRefused({ refused }: Gateway, c: GatewayContext, error: unknown): void {
  if (c.signal.aborted || c.logFields.turnId !== undefined || routeAt(c.method, c.path)?.headers !== startsTurn) return;
  const client = clientOf(c.headers);
  refused.note(client, error, c.logFields.model);
  c.logFields["client"] = refused.nameOf(client);
}

/** Host and Origin on every request; the key on all but the open routes and preflights. Throws the refusal. */
function guard(gateway: Gateway, policy: GuardPolicy, c: GatewayContext): void {
  const { method, path, headers } = c;
  const route = routeAt(method, path);
  const foreign = refuseForeign(policy, headers);
  if (foreign !== undefined) throw foreign;
  const inSession = () => gateway.sessions.isSignedIn(headers) && route?.dashboard === true;
  c.caller = authenticate(policy, headers) ?? (inSession() ? ownerOf(policy) : undefined);
  const isFile = method === "GET" && gateway.dashboard?.has(path) === true;
  if (c.caller === undefined && method !== "OPTIONS" && route?.guard !== "open" && !isFile)
    throw unservedApi(method, path) ?? unauthenticated(policy, headers);
}

/** An error that a route throws, as its API's error. */
function errorReply({ log }: Gateway, c: GatewayContext, error: unknown): Reply {
  const left = c.signal.aborted; // an ordinary end
  if (!isMillraceError(error)) {
    log.write(left ? "debug" : "error", left ? "client left" : "unexpected error", {
      requestId: c.requestId,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }
  return respondError(c, left ? new MillraceError("cancelled", "The client went away.") : error);
}

/**
 * The headers of every response but those of the stream protocol (`rpc-handler.ts`): the id that is also in the log, those for a caller with a key, and CORS for an allowed origin (the guard
 * refused the others). If the request sent no prompt, the IDE is the one that would get a prompt now.
 */
function finish(gateway: Gateway, c: GatewayContext, { status, headers }: Reply): void {
  const ours = c.caller === undefined ? {} : callerHeaders(gateway, c.logFields.model);
  for (const [name, value] of Object.entries(ours)) headers[name] ??= value;
  headers["x-request-id"] = c.requestId;
  headers["request-id"] = c.requestId;
  headers["x-content-type-options"] = "nosniff";
  if (status !== 403 && c.method !== "OPTIONS") Object.assign(headers, corsHeaders(c.headers.get("origin")));
}

function logRequest(gateway: Gateway, c: GatewayContext, status: number, ms: number): void {
  const quiet = routeAt(c.method, c.path)?.guard === "open";
  const level = status >= 500 ? "warn" : quiet ? "debug" : "info";
  gateway.log.write(level, "request", {
    requestId: c.requestId,
    method: c.method,
    path: loggedPath(c.path),
    status,
    ms: Math.round(ms),
    caller: c.caller?.name,
    ...c.logFields,
  });
}

/** How long refusals are counted before they get a line, in ms. */
const countedMs = 10_000;

/**
 * Requests that were refused before they had a caller. Anyone may send them, so they have one line for all of a time: a line for each would push the others
 * out of the log. The first of a time is written at once.
 */
class RefusedRequests {
  readonly #gateway: Pick<Gateway, "clock" | "log" | "stopping">;
  #counts: Map<string, { readonly status: number; readonly client: string; requests: number }> | undefined;

  constructor(gateway: Pick<Gateway, "clock" | "log" | "stopping">) {
    this.#gateway = gateway;
  }

  /** `client`: one of a bounded number of names. */
  count(status: number, client: string): void {
    if (this.#counts !== undefined) {
      const id = `${status} ${client}`;
      const counted = this.#counts.get(id) ?? { status, client, requests: 0 };
      counted.requests += 1;
      this.#counts.set(id, counted);
      return;
    }
    this.#counts = new Map();
    this.#gateway.log.write("info", "refused", { status, client });
    void bestEffort(this.#gateway.clock.sleep(countedMs, this.#gateway.stopping)).then(() => this.#tell());
  }

  #tell(): void {
    const counts = this.#counts?.values() ?? [];
    this.#counts = undefined;
    for (const counted of counts) this.#gateway.log.write("info", "refused", { ...counted });
  }
}
