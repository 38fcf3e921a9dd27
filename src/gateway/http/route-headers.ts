import type { TurnRecord } from "../../log/store.ts";

/** A header as the OpenAPI document has it. */
export interface HeaderInfo {
  readonly name: string;
  readonly description: string;
  /** Not on each answer. */
  readonly sometimes?: boolean;
}

/** The headers of our own that a route reads and answers with, beside those of every route. */
export interface RouteHeaders {
  readonly asked?: readonly HeaderInfo[];
  readonly answered?: readonly HeaderInfo[];
}

const lastEventIdInfo: HeaderInfo = {
  name: "last-event-id",
  description: "Continues an earlier stream after this event. A request that starts turns needs the same body.",
};

/** Request headers of routes that start a turn. docs/http-api.md explains each. */
export const startingHeaders: readonly HeaderInfo[] = [
  { name: "idempotency-key", description: "The same key and body get the same turn; another body gets 422." },
  lastEventIdInfo,
  {
    name: "x-millrace-grace",
    description: "How long the turn continues without a reader: `90`, `500ms`, `2m`, or `detach`.",
  },
  { name: "x-millrace-client", description: "The client's name." },
  { name: "x-millrace-project", description: "The client's project." },
  { name: "x-session-id", description: "The client's session. docs/http-api.md lists other headers for it." },
];

/** Headers of every answer about a turn. */
export const keptHeaderInfos: readonly HeaderInfo[] = [
  { name: "x-millrace-turn", description: "The turn." },
  { name: "x-millrace-degraded", description: "`true` when the log could not be written." },
  { name: "x-millrace-expires", description: "When the answer expires." },
];

/** Those headers of one turn: its id, how long the answer is kept (by the clock of `date`), and whether only memory holds it. */
export function keptHeaders({
  turnId,
  expiresAtMs,
  degraded,
}: Pick<TurnRecord, "turnId" | "expiresAtMs" | "degraded">): Readonly<Record<string, string>> {
  return {
    "x-millrace-turn": turnId,
    "x-millrace-degraded": String(degraded),
    "x-millrace-expires": new Date(expiresAtMs).toISOString(),
  };
}

/** Further headers of the answer to a request that started or joined a turn. */
export const startedHeaderInfos: readonly HeaderInfo[] = [
  { name: "x-millrace-joined", description: "`no`, `key`, `implicit` or `last_event_id`." },
  { name: "x-millrace-model", description: "The model's UID." },
  { name: "x-millrace-model-asked", description: "The model's name in the request." },
  { name: "x-millrace-model-rule", description: "The rule that matched the name.", sometimes: true },
  {
    name: "x-millrace-backend",
    description: "The backend of the prompt: `acp`, `cascade` or `raw_chat`, once it is known.",
    sometimes: true,
  },
  {
    name: "x-millrace-tools",
    description:
      "How the client's tools reached the model: `native` (as tools of the agent) or `prose`. Absent without tools.",
    sometimes: true,
  },
  { name: "x-millrace-continuity", description: "`reused` or `rebuilt(…)`, once it is known.", sometimes: true },
  {
    name: "x-millrace-ide-tools",
    description:
      "The tools with which the IDE's agent looked something up, such as `VIEW_FILE`. A stream has them in `millrace.ide_tools` of its last event instead.",
    sometimes: true,
  },
  {
    name: "x-millrace-compacted",
    description: "How much of the tools' descriptions reached the model, where they did not fit.",
    sometimes: true,
  },
  { name: "x-millrace-ignored-tools", description: "Hosted tools that were left out.", sometimes: true },
  {
    name: "x-millrace-left-out",
    description: "Types of items, blocks and messages of the history that were left out, at most 200 characters.",
    sometimes: true,
  },
  {
    name: "x-millrace-answered-by",
    description: "`gateway` when no model was asked; then there is no turn.",
    sometimes: true,
  },
];

/** Headers of refusals. */
export const refusalHeaderInfos: readonly HeaderInfo[] = [
  { name: "retry-after", description: "Seconds to wait before a retry, 60 at most.", sometimes: true },
  { name: "x-should-retry", description: "`false` if a retry cannot help.", sometimes: true },
  {
    name: "retry-after-ms",
    description:
      "Beside `x-should-retry: false`, for libraries that do not know it: their repeat gets the refusal again.",
    sometimes: true,
  },
];

/** The id that is also in error bodies and in the log; on every answer. */
const requestIdInfo: HeaderInfo = { name: "x-request-id", description: "The request's id." };

/** On every answer to a caller with a key, once an IDE was found. */
const ideInfo: HeaderInfo = {
  name: "x-millrace-ide",
  description:
    "The product that the prompt went to, such as `devin`. Where none was sent, the one that prompts go to now.",
  sometimes: true,
};

/** On every answer to a caller with a key, once the log is a new one because the old one was damaged. */
const storeInfo: HeaderInfo = {
  name: "x-millrace-store",
  description: "`new`: the log was damaged and set aside, so a repeated request may be prompted once more.",
  sometimes: true,
};

/** On the answers of every route. */
export const everyAnswer: readonly HeaderInfo[] = [requestIdInfo, ideInfo, storeInfo];

/** A route that starts or joins a turn. */
export const startsTurn: RouteHeaders = {
  asked: startingHeaders,
  answered: [...keptHeaderInfos, ...startedHeaderInfos],
};

/** A route that describes a turn. */
export const tellsOfTurn: RouteHeaders = { answered: keptHeaderInfos };

/** A route that answers with a turn's events after a cursor. */
export const resumesTurn: RouteHeaders = { asked: [lastEventIdInfo], answered: keptHeaderInfos };

/** Every header of our own that some answer carries. */
export const answerInfos = [...everyAnswer, ...keptHeaderInfos, ...startedHeaderInfos, ...refusalHeaderInfos];
