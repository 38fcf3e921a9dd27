import { callerOf, type GatewayContext } from "../http/context.ts";
import { Refusal } from "../http/refusal.ts";
import { routes } from "./all-routes.ts";
import { refusalAt } from "./not-served.ts";
import type { Route, RouteInput } from "./route.ts";

/** The declared route of a request that the guard let pass, and the parameters of its path. Throws the refusal where there is none. */
export function routeOf(c: GatewayContext): { readonly route: Route; readonly params: RouteInput["params"] } {
  const method = c.method === "HEAD" ? "GET" : c.method;
  const place = served.find(({ shape }) => shape.test(c.path));
  const there = served.filter(({ path }) => path === place?.path);
  const route = there.find((one) => one.method === method);
  if (route === undefined) throw refusalAt(c, there, served);
  c.route = route.label;
  if (route.guard === "owner" && !callerOf(c).owner) throw ownersOnly();
  return { route, params: decoded(route.shape.exec(c.path)?.groups ?? {}) };
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

/** The more of its path a route names, the earlier it is tried: `/v1/responses/compact` is no response of that id. */
const served = routes
  .toSorted((a, b) => namedIn(b.path) - namedIn(a.path))
  .map((route) => {
    const pattern = route.takesSlashes === true ? route.path.replace(/\{(\w+)\}(?=[^/]*$)/, "(?<$1>.+)") : route.path;
    return {
      ...route,
      shape: new RegExp(`^${pattern.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
      /** As metrics name it. */
      label:
        route.takesSlashes === true
          ? route.path.replace(/\{\w+\}(?=[^/]*$)/, "*")
          : route.path.replaceAll(/\{(\w+)\}/g, ":$1"),
    };
  });

function namedIn(path: string): number {
  return path.replaceAll(/\{\w+\}/g, "").length;
}

/** The declared route of a request whose caller is not known yet. */
export function routeAt(method: string, path: string): Route | undefined {
  return served.find((route) => route.method === (method === "HEAD" ? "GET" : method) && route.shape.test(path));
}

function ownersOnly(): Refusal {
  return new Refusal("not_yours", "Only the owner of the gateway may see this.", {
    hint: "Use the key that `millrace keys` shows.",
  });
}
