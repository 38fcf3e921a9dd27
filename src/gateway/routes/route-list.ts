import type { z } from "zod";
import { messagesBody } from "../dialects/anthropic-messages/request.ts";
import { chatBody } from "../dialects/openai-chat/request.ts";
import { completionBody } from "../dialects/openai-completions/request.ts";
import { responsesBody } from "../dialects/openai-responses/request.ts";

/** A route as documentation, `405` answers and the OpenAPI file know it. Paths name parameters as `{id}`. */
export interface RouteInfo {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly summary: string;
  /** Answers without a key. */
  readonly open?: boolean;
  /** A session of the dashboard may ask it: it hands out no text of prompts and answers, and starts no turn. */
  readonly dashboard?: boolean;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: z.ZodType;
  /** What it has to do with a turn, in its headers: starts or joins one, or tells of one. */
  readonly turn?: "starts" | "tells";
  /** What it answers beside JSON: always, or when asked. */
  readonly answers?: "event-stream" | "html" | "text";
}

/** Every route of the gateway. A test holds this list to the routes that are mounted. */
export const routeList: readonly RouteInfo[] = [
  {
    method: "POST",
    path: "/v1/chat/completions",
    turn: "starts",
    summary: "OpenAI Chat Completions.",
    body: chatBody,
    answers: "event-stream",
  },
  {
    method: "POST",
    path: "/v1/completions",
    turn: "starts",
    summary: "OpenAI's legacy completions.",
    body: completionBody,
    answers: "event-stream",
  },
  {
    method: "POST",
    path: "/v1/responses",
    turn: "starts",
    summary: "OpenAI Responses: create.",
    body: responsesBody,
    answers: "event-stream",
  },
  {
    method: "GET",
    path: "/v1/responses/{id}",
    turn: "tells",
    summary: "A response as it stands, or its events.",
    query: { stream: "`true`: events", starting_after: "only events after this `sequence_number`" },
    answers: "event-stream",
  },
  { method: "DELETE", path: "/v1/responses/{id}", summary: "Ends a response if it runs, and forgets it." },
  { method: "POST", path: "/v1/responses/{id}/cancel", turn: "tells", summary: "Ends a response." },
  {
    method: "GET",
    path: "/v1/responses/{id}/input_items",
    turn: "tells",
    summary: "What a response was asked.",
    query: { order: "`asc` or `desc`", limit: "1 to 100", after: "id of an item" },
  },
  {
    method: "POST",
    path: "/v1/messages",
    turn: "starts",
    summary: "Anthropic Messages.",
    body: messagesBody,
    answers: "event-stream",
  },
  {
    method: "POST",
    path: "/v1/messages/count_tokens",
    summary: "Tokens of a Messages request, about.",
    body: messagesBody,
  },
  {
    method: "GET",
    path: "/v1/models",
    summary: "The account's models, in the shape of who asks.",
    query: {
      refresh: "`1`: ask the IDE again",
      limit: "Anthropic only",
      after_id: "Anthropic only",
      before_id: "Anthropic only",
    },
  },
  { method: "GET", path: "/v1/models/{id}", summary: "One model, by any name that resolves." },
  {
    method: "GET",
    path: "/v1/turns",
    summary: "Turns, newest first, without their prompts.",
    dashboard: true,
    query: { open: "`true`: running ones only", limit: "1 to 1000" },
  },
  {
    method: "GET",
    path: "/v1/turns/feed",
    summary: "Turns as they begin, grow and end, without their texts; the owner only.",
    dashboard: true,
    answers: "event-stream",
  },
  { method: "GET", path: "/v1/turns/{id}", turn: "tells", summary: "One turn.", dashboard: true },
  {
    method: "GET",
    path: "/v1/turns/{id}/summary",
    turn: "tells",
    summary: "One turn with its times, tokens and end; null is what is not known.",
    dashboard: true,
  },
  {
    method: "GET",
    path: "/v1/turns/{id}/timeline",
    turn: "tells",
    summary:
      "A turn's events without their texts, to its end, and who came back to it; also of a turn that its client sealed.",
    dashboard: true,
    answers: "event-stream",
  },
  {
    method: "GET",
    path: "/v1/turns/{id}/events",
    turn: "tells",
    summary: "A turn's own events, to its end; 403 for a turn that its client sealed.",
    query: { after: "only events after this id", attach: "`1`: as a reader that keeps the turn alive" },
    answers: "event-stream",
  },
  { method: "POST", path: "/v1/turns/{id}/cancel", turn: "tells", summary: "Ends a turn.", dashboard: true },
  {
    method: "GET",
    path: "/v1/limits",
    summary: "What is left of the plans.",
    dashboard: true,
    query: { wait: "`0`: what is known, at once" },
  },
  {
    method: "GET",
    path: "/v1/limits/history",
    summary: "How much of each limit was used, over time.",
    dashboard: true,
    query: { since: "`7d`, a day or an instant" },
  },
  {
    method: "GET",
    path: "/v1/limits/{ide}",
    summary: "What is left of one IDE's plan.",
    dashboard: true,
    query: { wait: "`0`: what is known, at once" },
  },
  {
    method: "GET",
    path: "/v1/usage",
    summary: "What turns used.",
    dashboard: true,
    query: { since: "`7d`, a day or an instant", until: "the same", by: "what to sum by", time_zone: "for days" },
  },
  {
    method: "GET",
    path: "/v1/usage/tools",
    summary: "How each model fared at calling tools: calls right at once, repaired, right when asked again, failed.",
    query: { since: "`30d`, a day or an instant" },
  },
  {
    method: "GET",
    path: "/v1/ides",
    summary: "The IDEs found, with doctor's verdicts; the owner only.",
    dashboard: true,
  },
  { method: "GET", path: "/metrics", summary: "Counters and times for Prometheus.", answers: "text" },
  { method: "GET", path: "/openapi.json", summary: "This list, as OpenAPI." },
  { method: "GET", path: "/health", summary: "That the gateway runs; with a key, more.", dashboard: true, open: true },
  { method: "GET", path: "/api/hello", summary: "That something answers here.", open: true },
  { method: "POST", path: "/v1/dashboard/link", summary: "A link that signs one browser in to the dashboard, once." },
  {
    method: "GET",
    path: "/sign-in",
    summary: "Makes a one-time link a session.",
    open: true,
    query: { code: "from the link" },
    answers: "html",
  },
  { method: "POST", path: "/sign-out", summary: "Ends the dashboard's session.", dashboard: true },
  {
    method: "GET",
    path: "/",
    summary: "The dashboard, or a short page where it was not built.",
    open: true,
    answers: "html",
  },
];
