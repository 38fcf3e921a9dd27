import type { Context } from "hono";
import { isMillraceError, MillraceError, toMillraceError } from "../../base/errors.ts";
import type { DashboardSessions } from "../dashboard/dashboard-sessions.ts";
import { encodeAnthropicError } from "../dialects/anthropic-messages/errors.ts";
import { forClient } from "../dialects/by-client.ts";
import type { WireError } from "../dialects/dialect.ts";
import { encodeOpenAiError } from "../dialects/openai-errors.ts";
import type { GatewayMetrics } from "../metrics/metrics.ts";
import type { GatewayEvents, GatewayOptions } from "../options.ts";
import { corsHeaders } from "./cors.ts";
import type { Caller } from "./guard.ts";
import type { Handovers } from "./handovers.ts";
import type { Timing } from "./timing.ts";

/** The variables of a request that every route can read. */
export interface GatewayVariables {
  readonly requestId: string;
  readonly caller: Caller | undefined;
  /** More for this request's log line. */
  readonly logFields: Record<string, unknown> & { model?: string };
}

// biome-ignore lint: the shape that Hono asks for
export type GatewayEnv = { Variables: GatewayVariables };
export type GatewayContext = Context<GatewayEnv>;

/** The parts that routes share, with every default filled in. */
export interface Gateway extends GatewayOptions {
  readonly limits: { readonly maxBodyBytes: number; readonly mostOpen: number };
  readonly waits: Timing;
  readonly metrics: GatewayMetrics;
  readonly events: GatewayEvents;
  readonly sessions: DashboardSessions;
  /** How many requests are being answered now. */
  answering(): number;
  /** Aborts when the gateway stops, before its turns do. */
  readonly stopping: AbortSignal;
  readonly handovers: Handovers;
}

/** Whether the caller uses Anthropic's API: by the path, or by its SDK's headers if the path is shared. */
export function asksInAnthropic(path: string, headers: Headers): boolean {
  if (path === "/v1/messages" || path.startsWith("/v1/messages/")) return true;
  const shared = path === "/v1/models" || path.startsWith("/v1/models/");
  return shared && (headers.has("anthropic-version") || /^claude-cli\b/i.test(headers.get("user-agent") ?? ""));
}

/** An error in the caller's own API; `status` if it differs from the status of the code. */
export function respondError(c: GatewayContext, error: unknown, status?: number): Response {
  const ours = toMillraceError(error);
  if (ours.code === "internal") c.var.logFields.error = describeBug(error);
  c.var.logFields.code = ours.code;
  const encode = asksInAnthropic(c.req.path, c.req.raw.headers) ? encodeAnthropicError : encodeOpenAiError;
  const record = ours.toRecord();
  const wire = forClient(encode(record, c.var.requestId), record, c.req.raw.headers.get("user-agent"));
  return respond(wire, status);
}

export function respond(error: WireError, status?: number): Response {
  return jsonResponse(error.body, status ?? error.status, error.headers);
}

export const jsonHeaders = { "content-type": "application/json", "cache-control": "no-store" } as const;

export function jsonResponse(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...jsonHeaders, ...headers },
  });
}

/** The error for a request that no route can serve, in the form of the caller's API. */
export function notServed(
  c: GatewayContext,
  status: 404 | 405 | 413 | 415 | 501,
  message: string,
  hint: string,
): Response {
  return respondError(c, new MillraceError("invalid_request", message, { hint }), status);
}

/** The caller; the guard has made sure that there is one. */
export function callerOf(c: GatewayContext): Caller {
  if (c.var.caller === undefined) throw new MillraceError("internal", "A route was reached without a key.");
  return c.var.caller;
}

/** CORS headers for a request whose origin the guard let pass. */
export function addCors(headers: Headers, origin: string | null): void {
  for (const [name, value] of Object.entries(corsHeaders(origin))) headers.set(name, value);
}

/** A bug for the log: where it happened. Never for a client. */
function describeBug(error: unknown): string {
  const cause = isMillraceError(error) && error.cause !== undefined ? error.cause : error;
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}
