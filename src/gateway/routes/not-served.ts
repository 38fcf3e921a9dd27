import { editDistance } from "../../models/nearest.ts";

/** A route as far as its place goes. `shape` matches the paths that it serves. */
interface Place {
  readonly method: string;
  readonly path: string;
  readonly shape: RegExp;
}

/** The answer to a request that no route serves. `allow`: the methods that its path is served by. */
export interface UnservedPath {
  readonly status: 404 | 405 | 426 | 501;
  readonly message: string;
  readonly hint: string;
  readonly allow?: readonly string[];
}

const instead = "Served are POST /v1/chat/completions, /v1/responses, /v1/messages and /api/chat.";

/** APIs that clients look for and that are not here, by path, and why. Source: docs/wire/clients.md, "HTTP and model lists". */
const unserved: readonly { readonly path: RegExp; readonly what: string; readonly hint: string }[] = [
  {
    path: /^\/(?:v1\/)?v1(?:beta|alpha)\d*(?:\/|$)|^\/v1\/models\/.+:(?:stream)?(?:generateContent|countTokens|embedContent)$/i,
    what: "The Gemini API is",
    hint: instead,
  },
  {
    path: /^\/(?:v1\/embeddings|api\/embed(?:dings)?)(?:\/|$)/,
    what: "Embeddings are",
    hint: `The models here only write text: use another server for embeddings. ${instead}`,
  },
  {
    path: /^\/api\/(?:pull|push|create|copy|delete|blobs)(?:\/|$)/,
    what: "Managing models is",
    hint: "The models are those of the IDE's account: GET /api/tags lists them.",
  },
  {
    path: /^\/v1\/(?:audio|images|moderations|files|batches|fine_tuning|assistants|threads|conversations|vector_stores|realtime|videos|containers|evals|uploads|messages\/batches)(?:\/|$)/,
    what: "This part of the API is",
    hint: instead,
  },
];

/**
 * Says why a request is not served, and what to do: another method, the API that is not here, or the route whose name is nearest.
 * `upgrade`: the protocol that the request asks for. Source: docs/wire/clients.md, "HTTP and model lists".
 */
export function notServedAt(
  { method, path, upgrade }: { readonly method: string; readonly path: string; readonly upgrade: string | undefined },
  places: readonly Place[],
): UnservedPath {
  if (path === "/v1/responses" && method === "GET" && upgrade?.toLowerCase() === "websocket") {
    const message = "This gateway serves no WebSocket to this client: its Node is older than 24.9.";
    return { status: 426, message, hint: "Send POST /v1/responses instead." };
  }
  const known = unserved.find((api) => api.path.test(path));
  if (known !== undefined)
    return { status: 501, message: `${known.what} not served: ${path.slice(0, 200)}.`, hint: known.hint };
  const allow = places.filter(({ shape }) => shape.test(path)).map((place) => place.method);
  if (allow.length > 0) {
    return { status: 405, message: `${method} is not served at ${path}.`, hint: `Send ${allow.join(" or ")}.`, allow };
  }
  const near = nearest(path, places);
  const hint =
    near === undefined
      ? "GET /openapi.json lists all routes."
      : `Did you mean ${near}? GET /openapi.json lists all routes.`;
  return { status: 404, message: `There is nothing at ${method} ${path.slice(0, 200)}.`, hint };
}

/** The route whose path differs by a few letters; undefined if none does. */
function nearest(path: string, places: readonly Place[]): string | undefined {
  const distances = places.map((place) => ({ place, distance: editDistance(path.slice(0, 100), place.path) }));
  const best = distances.sort((a, b) => a.distance - b.distance)[0];
  if (best === undefined || best.distance > Math.max(2, path.length / 5)) return undefined;
  return `${best.place.method} ${best.place.path}`;
}
