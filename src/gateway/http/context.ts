import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../base/clock.ts";
import { type ErrorRecord, isMillraceError, MillraceError, toMillraceError } from "../../base/errors.ts";
import type { Secret } from "../../base/secret.ts";
import type { Models } from "../../models/model.ts";
import type { Turns } from "../../turns/open-turns.ts";
import type { DashboardFiles } from "../dashboard/dashboard-files.ts";
import type { DashboardSessions } from "../dashboard/dashboard-sessions.ts";
import type { IssuedKey } from "../dashboard/inventory.ts";
import type { GatewayEvents } from "../dashboard/turn-feed.ts";
import { encodeAnthropicError } from "../dialects/anthropic-messages/errors.ts";
import { clientName, forClient } from "../dialects/by-client.ts";
import type { Dialect, WireError } from "../dialects/dialect.ts";
import { encodeGeminiError } from "../dialects/gemini/errors.ts";
import { encodeOllamaError } from "../dialects/ollama/encode.ts";
import { encodeOpenAiError } from "../dialects/openai-errors.ts";
import type { GatewayMetrics } from "../metrics/metrics.ts";
import type { AgentStats } from "../metrics/read-gauges.ts";
import type { PdfReader } from "../pdf/pdf-reader.ts";
import type { Caller } from "./guard.ts";
import type { GatewayLog } from "./log.ts";
import type { ConsentBook, GatewayMeter, StoreState } from "./options.ts";
import { Refusal } from "./refusal.ts";
import type { RefusedBook } from "./refused.ts";
import { jsonResponse, type Reply } from "./reply.ts";
import { type Api, apiOf, deploymentOf, foldPath, headersOf, requestIdOf } from "./request-headers.ts";
import type { Timing } from "./timing.ts";

/** A request that a route answers. */
export class GatewayContext {
  readonly incoming: IncomingMessage;
  readonly method: string;
  /** The model that the path names, in Azure's form. */
  readonly deployment: string | undefined;
  /** As routes are looked up by: see `foldPath`. */
  readonly path: string;
  /** In whose form it is answered. */
  readonly api: Api;
  readonly headers: Headers;
  readonly search: URLSearchParams;
  /** Aborts when the client's connection is gone before it has the whole response. */
  readonly signal: AbortSignal;
  readonly requestId: string;
  /** Undefined before the guard has looked, and on open routes. */
  caller: Caller | undefined;
  /** The route that answers, as metrics name it; undefined for unknown paths. */
  route: string | undefined;
  /** The body, if it was read before: a message of a WebSocket. */
  readonly json: unknown;
  /** More for this request's log line. */
  readonly logFields: Record<string, unknown> & { model?: string } = {};

  /** @throws TypeError when the request's target is no path of this server. */
  constructor(incoming: IncomingMessage, response: ServerResponse, nowMs: number, json?: unknown) {
    const { method = "GET", url = "" } = incoming;
    const headers = headersOf(incoming);
    const isWhole = !url.startsWith("/"); // some programs ask every server as they would ask a proxy; this is none
    const { host, pathname, searchParams } = new URL(isWhole ? url : `http://gateway${url}`);
    if (isWhole && host !== headers.get("host")) throw new TypeError("another server's");
    const left = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) left.abort(new DOMException("The client closed the connection.", "AbortError"));
    });
    this.incoming = incoming;
    this.method = method;
    const path = foldPath(pathname);
    this.api = apiOf(pathname, headers);
    // Google's list and OpenAI's have the same path
    this.path = this.api === "gemini" ? path.replace(/^\/v1(?=\/models(?:\/|$))/, "/v1beta") : path;
    const key = searchParams.get("key"); // only Google's programs put it there
    this.deployment = deploymentOf(pathname);
    this.headers = headers;
    this.search = searchParams;
    if (key !== null && this.path.startsWith("/v1beta/") && !headers.has("x-goog-api-key"))
      headers.set("x-goog-api-key", key);
    this.signal = left.signal;
    this.requestId = requestIdOf(this.headers, nowMs);
    this.json = json;
  }

  header(name: string): string | undefined {
    return this.headers.get(name) ?? undefined;
  }

  query(name: string): string | undefined {
    return this.search.get(name) ?? undefined;
  }
}

/** What each group of routes is handed: a handler can touch nothing else of the gateway. */
export interface RouteParts {
  readonly turns: TurnParts;
  readonly lists: ListParts;
  readonly models: ModelParts;
  readonly keys: KeyParts;
  readonly page: PageParts;
  readonly status: StatusParts;
}

/** For the APIs, and for one turn. */
export interface TurnParts {
  readonly turns: Turns;
  readonly models: Models;
  readonly clock: Clock;
  readonly log: GatewayLog;
  readonly metrics: GatewayMetrics;
  readonly waits: Timing;
  readonly readPdf: PdfReader;
  /** The window of a model by its UID, as prompts are laid out for it; undefined while it is unknown. */
  readonly contextTokens?: (modelUid: string) => number | undefined;
}

/** For lists of turns, limits and use: labels, and no way to open a request, which may have megabytes. */
export interface ListParts {
  readonly turns: Pick<Turns, "list" | "getLabel">;
  readonly models: Pick<Models, "nameOf">;
  /** The plans' limits and use. */
  readonly meter: GatewayMeter;
  readonly clock: Clock;
  readonly sessions: DashboardSessions;
}

/** For lists of models. */
export interface ModelParts {
  readonly models: Models;
  readonly meter: Pick<GatewayMeter, "lastUses">;
}

/** For the keys of other programs. */
export interface KeyParts {
  /** Makes a key of `millrace run` work for its client until the signal aborts; with `door` at a port of its own too (0 for a free one), which it answers. */
  readonly lendKey: (
    lent: { readonly client: string; readonly key: Secret; readonly door: number | undefined },
    until: AbortSignal,
  ) => Promise<number | undefined>;
  /** Opens and closes doors as the list of keys has them now; answers why others cannot be opened. */
  readonly adjustDoors: () => Promise<readonly string[]>;
  /** The keys that the owner made for others. */
  readonly issuedKeys: () => readonly IssuedKey[];
  readonly turns: Pick<Turns, "list">;
  /** Aborts when the gateway stops, before its turns do. */
  readonly stopping: AbortSignal;
}

/** For the dashboard, whose sessions may look at every turn. */
export interface PageParts
  extends Pick<TurnParts, "turns" | "clock">,
    Pick<ListParts, "models" | "sessions">,
    Pick<KeyParts, "stopping"> {
  readonly events: GatewayEvents;
  /** The owner's key now, in place of the first of `keys`; asked at each request. */
  readonly ownerKey?: () => Secret;
  /** The name of a caller's key; undefined if unknown. */
  readonly keyNameOf?: (caller: string) => string | undefined;
  /** Another text once the pause, the store, the IDEs, or what was refused and blocked may have changed. */
  readonly state: () => string;
  /** The IDEs found with doctor's verdicts: plain JSON without secrets. */
  readonly ides: () => Promise<unknown>;
  /** The user's consents; without it, nothing there needs one. */
  readonly consents?: ConsentBook;
  /** How long an ended turn's texts are kept, ms; two hours by default. */
  readonly keptMs?: number;
  /** The built dashboard, served at `/`; a short page stands there without it. */
  readonly dashboard?: DashboardFiles | undefined;
}

/** For health and metrics. */
export interface StatusParts {
  /** Millrace's own version, for `/health` and the `server` header. */
  readonly version: string;
  /** The answer to a challenge of `/health`: it proves that this gateway knows the owner's key. Undefined off a port. */
  prove(challenge: string): string | undefined;
  /** The details of `/health` for a caller with the key: plain JSON without secrets. */
  readonly healthDetails?: () => Promise<unknown>;
  /** Whether the log can be written. */
  readonly storeState?: () => StoreState;
  /** The pause; null while there is none. */
  readonly pauseState?: () => { readonly since: string | null } | null;
  /** The limit in force. */
  readonly turnLimit?: () => { readonly most: number | undefined; readonly why: string };
  readonly refused: Pick<RefusedBook, "encode">;
  readonly turns: Pick<Turns, "blocked" | "load">;
  readonly models: Pick<Models, "nameOf">;
  readonly metrics: GatewayMetrics;
  readonly meter: Pick<GatewayMeter, "limits">;
  /** The agent programs that were started. */
  readonly agents?: () => Promise<readonly AgentStats[]>;
  /** Bytes that the event log takes on disk; undefined where it has no file. */
  readonly logBytes?: () => number | undefined;
}

/** The parts of all groups. */
export type GatewayParts = TurnParts & ListParts & ModelParts & KeyParts & PageParts & StatusParts;

/** `status`: that of a refusal, where it is not the one of its code. */
type EncodeError = (...given: [...Parameters<Dialect["encodeError"]>, status?: number]) => WireError;

const errorEncoders: Readonly<Record<Api, EncodeError>> = {
  openai: encodeOpenAiError,
  lmstudio: encodeOpenAiError,
  anthropic: encodeAnthropicError,
  gemini: encodeGeminiError,
  ollama: encodeOllamaError,
};

/** An error in the caller's own API. */
export function respondError(c: GatewayContext, error: unknown): Reply {
  const ours = toMillraceError(error);
  if (ours.code === "internal") c.logFields.error = describeBug(error);
  c.logFields.code = ours.code;
  const encode = errorEncoders[c.api];
  if (!(ours instanceof Refusal)) return respond(c, encode, ours.toRecord());
  const reply = respond(c, (record, id) => encode(record, id, ours.status), ours.toRecord());
  return { ...reply, status: ours.status, headers: { ...reply.headers, ...ours.headers } };
}

/** The same in a dialect. */
export function respond(c: GatewayContext, encode: Dialect["encodeError"], record: ErrorRecord): Reply {
  const wire = forClient(encode(record, c.requestId), record, clientName(c.headers));
  return jsonResponse(wire.body, wire.status, wire.headers);
}

/** The caller; the guard has made sure that there is one. */
export function callerOf(c: GatewayContext): Caller {
  if (c.caller === undefined) throw new MillraceError("internal", "A route was reached without a key.");
  return c.caller;
}

/** A bug for the log: where it happened. Never for a client. */
function describeBug(error: unknown): string {
  const cause = isMillraceError(error) && error.cause !== undefined ? error.cause : error;
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}
