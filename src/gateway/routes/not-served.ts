import { editDistance } from "../../models/nearest.ts";
import type { GatewayContext } from "../http/context.ts";
import { Refusal } from "../http/refusal.ts";
import type { Route } from "./route.ts";

type Place = Pick<Route, "method" | "path">;

const instead =
  "Served are POST /v1/chat/completions, /v1/completions, /v1/responses, /v1/messages, /api/chat and Gemini's generateContent.";
const ofGemini = "Served of it are the models, generateContent, streamGenerateContent and countTokens.";
const history = "Send the whole history each time, or continue a stored response by `previous_response_id`.";

/** APIs that clients look for and that are not here, by path, and what to use. Source: docs/dev/wire/requirements.json. */
const unserved: readonly {
  readonly path: RegExp;
  /** Without it, any method. */
  readonly method?: string;
  readonly what: string;
  readonly hint: string;
}[] = [
  {
    path: /^\/(?:v1\/embeddings|api\/embed(?:dings)?)(?:\/|$)|^\/v1beta\/models\/.+:(?:\w*E|e)mbedContents?$/,
    what: "Embeddings are",
    hint: `The models here only write text: use another server for embeddings. ${instead}`,
  },
  {
    path: /^\/v1(?:beta|alpha)(?!\/models(?:\/|$))|^\/(?:upload|download)\/v1beta\//,
    what: "This part of the Gemini API is",
    hint: ofGemini,
  },
  {
    method: "POST",
    path: /^\/v1beta\/models\/(?!.+:(?:generateContent|streamGenerateContent|countTokens)$)./,
    what: "This method of a model is",
    hint: ofGemini,
  },
  {
    path: /^\/api\/(?:push|create|copy|delete|blobs)(?:\/|$)/,
    what: "Managing models is",
    hint: "The models are those of the IDE's account: GET /api/tags lists them.",
  },
  {
    path: /^\/(?:v1|api|api\/experimental)\/web_(?:search|fetch)(?:\/|$)/,
    what: "The web is",
    hint: "Offer a tool of your own that searches, and run it in your program.",
  },
  {
    path: /^\/v1\/(?:conversations|threads|assistants)(?:\/|$)/,
    what: "A conversation that the server keeps is",
    hint: history,
  },
  {
    path: /^\/v1\/chat\/completions\/./,
    what: "A stored chat completion is",
    hint: "Use POST /v1/responses: GET /v1/responses/{id} gives its answers again.",
  },
  { path: /^\/v1\/complete$/, what: "The Text Completions API is", hint: "Use POST /v1/messages." },
  {
    path: /^\/v1\/(?:files|uploads)(?:\/|$)/,
    what: "A store for files is",
    hint: "Send a text as text, and a picture as a data URL or base64, in the message itself.",
  },
  {
    path: /^\/v1\/(?:messages\/)?batches(?:\/|$)/,
    what: "A batch is",
    hint: `Send its requests one by one. ${instead}`,
  },
  {
    path: /^\/v1\/(?:audio|images|moderations|fine_tuning|vector_stores|realtime|live|videos|containers|evals|skills|agents|sessions|chatkit)(?:\/|$)/,
    what: "This part of the API is",
    hint: instead,
  },
];

/**
 * The refusal for a path of an API that is not here; undefined for any other. A client without a key gets it too: no key would help.
 * It is a 404: some libraries repeat every 5xx.
 */
export function unservedApi(asked: string, path: string): Refusal | undefined {
  const known = unserved.find((api) => (api.method ?? asked) === asked && api.path.test(path));
  return known && new Refusal("not_found", `${known.what} not served: ${path.slice(0, 200)}.`, { hint: known.hint });
}

/**
 * Says why a request is not served, and what to do: another method, the API that is not here, or the route whose name is nearest.
 * `there`: the routes of its path. Source: docs/dev/wire/requirements.json.
 */
export function refusalAt(
  c: Pick<GatewayContext, "method" | "path" | "header">,
  there: readonly Place[],
  all: readonly Place[],
): Refusal {
  const { method, path } = c;
  if (path === "/v1/responses" && method === "GET" && c.header("upgrade")?.toLowerCase() === "websocket")
    return new Refusal("no_upgrade", "This gateway serves no WebSocket to this client: its Node is older than 24.9.", {
      hint: "Send POST /v1/responses instead.",
      headers: { upgrade: "websocket" },
    });
  const unknown = unservedApi(method, path);
  if (unknown !== undefined) return unknown;
  const allow = there.map((place) => place.method);
  if (allow.length > 0)
    return new Refusal("wrong_method", `${method} is not served at ${path}.`, {
      hint: `Send ${allow.join(" or ")}.`,
      headers: { allow: allow.join(", ") },
    });
  const near = nearest(path, all);
  const hint = `${near === undefined ? instead : `Did you mean ${near}?`} GET /openapi.json lists all routes.`;
  return new Refusal("not_found", `There is nothing at ${method} ${path.slice(0, 200)}.`, { hint });
}

/** The route whose path differs by a few letters; undefined if none does. */
function nearest(path: string, places: readonly Place[]): string | undefined {
  const distances = places.map((place) => ({ place, distance: editDistance(path.slice(0, 100), place.path) }));
  const best = distances.sort((a, b) => a.distance - b.distance)[0];
  if (best === undefined || best.distance > Math.min(Math.max(2, path.length / 5), path.length / 2)) return undefined;
  return `${best.place.method} ${best.place.path}`;
}
