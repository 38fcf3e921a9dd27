import type { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import { writeJson } from "../../base/json.ts";
import type { GatewayContext, RouteParts } from "../http/context.ts";
import type { Reply } from "../http/reply.ts";
import type { RouteHeaders } from "../http/route-headers.ts";

/** The gateway's only declaration of a route: mounting, guard, documentation and attack tests come from it. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** Names its parameters as `{id}`. */
  readonly path: string;
  /** Its last parameter takes slashes as well. */
  readonly takesSlashes?: boolean;
  readonly summary: string;
  /** Who may call the route: `open` is anyone, `owner` the owner's key alone. Without it, any caller with a key. */
  readonly guard?: "open" | "owner";
  /** A session of the dashboard may ask it: it hands out a text or starts a turn only after the owner agreed to that in this session. */
  readonly dashboard?: boolean;
  readonly query?: Readonly<Record<string, string>>;
  /** The body's schema. A body that is too large, no JSON or nested too deep is refused before the handler is called. */
  readonly body?: z.ZodType;
  /** The answer where it is JSON of our own. */
  readonly answer?: z.ZodType;
  /** The answer's type if it is not JSON: always, or when the client asks for it. */
  readonly answers?: "event-stream" | "ndjson" | "html" | "text";
  readonly headers?: RouteHeaders;
  handle(parts: RouteParts, c: GatewayContext, asked: RouteInput): Reply | Promise<Reply>;
}

/** A request as its route wants it. */
export interface RouteInput<Name extends string = string> {
  readonly params: Readonly<Record<Name, string>>;
  /** The parsed body; undefined where the route declares none. */
  readonly json: unknown;
}

type MethodAndPath = `${Route["method"]} /${string}`;
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

type Group = keyof RouteParts;

type RouteAt<In extends Group, At extends MethodAndPath> = Omit<Route, "method" | "path" | "handle"> & {
  /** A property, so that the compiler refuses a handler that asks for parts of another group. */
  readonly handle: (parts: RouteParts[In], c: GatewayContext, asked: RouteInput<NamesIn<At>>) => Reply | Promise<Reply>;
};

/** Declares a route of a group, `GET /v1/turns/{id}`; its handler gets the group's parts, and knows the parameters that the path names. */
export function defineRoute<In extends Group, const At extends MethodAndPath>(
  group: In,
  at: At,
  route: RouteAt<In, At>,
): Route {
  const [method, path] = at.split(" ") as [Route["method"], string]; // as its type says
  return { ...route, method, path, handle: (parts, c, asked) => route.handle(parts[group], c, asked) };
}

/** Declares a route for the owner's key, and for the owner's session of the dashboard. */
export function defineOwnerRoute<In extends Group, const At extends MethodAndPath>(
  group: In,
  at: At,
  route: Omit<RouteAt<In, At>, "guard" | "dashboard">,
): Route {
  return defineRoute(group, at, { ...(route as RouteAt<In, At>), guard: "owner", dashboard: true });
}

/** `limit`, from 1 to `most`; one that is no number is the usual one. */
export function limitIn(query: URLSearchParams, usual: number, most: number): number {
  return Math.min(most, Math.max(1, Number.parseInt(query.get("limit") ?? "", 10) || usual));
}

/** One of these values; undefined where the query has none. @throws MillraceError `invalid_request` for another one. */
export function oneOf<T extends string>(c: GatewayContext, param: string, values: readonly T[]): T | undefined {
  const given = c.query(param) || undefined;
  const found = values.find((value) => value === given);
  if (given === undefined || found !== undefined) return found;
  throw new MillraceError("invalid_request", `\`${param}\` cannot be ${writeJson(given.slice(0, 60))}.`, {
    param,
    hint: `Give one of ${values.join(", ")}.`,
  });
}
