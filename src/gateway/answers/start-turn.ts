import { createHash } from "node:crypto";
import { MillraceError } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import { isObject } from "../../base/json.ts";
import { ownTurn } from "../../base/node/unhurried.ts";
import { estimateTokens } from "../../base/token-estimate.ts";
import type { TurnRecord } from "../../log/store.ts";
import type { AskedTurn, RequestIdentity, StartedTurn } from "../../turns/turns.ts";
import { endsInAwaitedResults } from "../../turns/twins.ts";
import { projectFromMessages } from "../../usage/history/project-of.ts";
import { clientName, repeatsLate } from "../dialects/by-client.ts";
import type { Dialect, EncodeContext, ParsedTurn } from "../dialects/dialect.ts";
import { callerOf, type Gateway, type GatewayContext } from "../http/context.ts";
import {
  clientOf,
  graceMsOf,
  headerSafe,
  idempotencyKeyOf,
  isRetry,
  projectOf,
  sessionOf,
} from "../http/request-headers.ts";
import { keptHeaders } from "../http/route-headers.ts";
import { type PromptSize, sizeOfAccepted } from "./count-tokens.ts";
import { handedOut, parseCursor, type WireCursor } from "./wire-cursor.ts";

/** The turn of a request: its reader, its encoder and its headers. */
export interface OpenTurn {
  readonly turnId: TurnId;
  readonly context: EncodeContext;
  readonly record: TurnRecord;
  readonly resumeAfter: WireCursor | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** As a new one, by its key, as the same request again, or by the `Last-Event-ID` of an earlier stream. */
  readonly joined: StartedTurn["joined"] | "last_event_id";
  readonly continuity: StartedTurn["continuity"];
}

/**
 * The turn of a request: a new turn, the turn that it joins, or the turn of its `Last-Event-ID`. `body` is what the client sent;
 * `parsed` is how the dialect reads it.
 *
 * @throws MillraceError what resolving the model, the keys or the turns throw.
 */
export async function startTurn(
  gateway: Gateway,
  c: GatewayContext,
  { dialect, parsed, body }: { readonly dialect: Dialect; readonly parsed: ParsedTurn; readonly body: unknown },
): Promise<OpenTurn> {
  const fingerprint = await fingerprintOf(dialect.name, body);
  const { headers, signal } = c;
  const graceMs = parsed.detached === true ? Number.POSITIVE_INFINITY : graceMsOf(c.headers, c.search);
  const resumed = await resumedTurn(gateway, c, fingerprint);
  if (resumed !== undefined) {
    const { found, cursor } = resumed;
    const record = await gateway.turns.noteReader(found, graceMs);
    gateway.metrics.turn(dialect.name, "last_event_id", record.degraded);
    const how = { joined: "last_event_id", continuity: () => "joined" } as const;
    return openTurn(gateway, c, parsed, { ...how, record, resumeAfter: cursor });
  }
  const asked: RequestIdentity = {
    caller: callerOf(c).digest,
    fingerprint,
    idempotencyKey: idempotencyKeyOf(headers),
    session: sessionOf(headers),
    retry: isRetry(headers) || endsInAwaitedResults(parsed.request),
    graceMs,
  };
  const resolve = async (): Promise<AskedTurn> => {
    const { model, reasoningEffort } = parsed.request;
    const resolution = await gateway.models.resolve(model, reasoningEffort, signal);
    c.logFields.model = resolution.model.uid;
    return {
      ...asked,
      dialect: dialect.name,
      request: parsed.request,
      modelUid: resolution.model.uid,
      modelNumber: resolution.model.number,
      modelRule: resolution.rule,
      client: clientOf(headers),
      project: projectOf(headers) ?? projectFromMessages(parsed.request), // now: lists and the history open no request
      wire: parsed.wire,
      repeatsLate: repeatsLate(clientName(headers)),
    };
  };
  const started = await gateway.turns.start({ ...asked, resolve }, signal);
  gateway.metrics.turn(dialect.name, started.joined, started.record.degraded);
  return openTurn(gateway, c, parsed, { ...started, resumeAfter: undefined });
}

/** The turn that a `Last-Event-ID` names, when this is that turn's own request again. */
async function resumedTurn(gateway: Gateway, c: GatewayContext, fingerprint: string) {
  const text = c.header("last-event-id");
  if (text === undefined || text.trim() === "") return undefined;
  const cursor = parseCursor(text);
  const found = cursor === undefined ? undefined : await gateway.turns.get(cursor.turnId, callerOf(c).digest);
  if (cursor === undefined || found === undefined) {
    throw new MillraceError("invalid_request", "Last-Event-ID names a turn that cannot be resumed.", {
      param: "last-event-id",
      hint: "Send the request without it to start a new turn.",
    });
  }
  if (found.fingerprint !== fingerprint) {
    throw new MillraceError("idempotency_conflict", "Last-Event-ID names the turn of another request.", {
      param: "last-event-id",
      hint: "Send the same body as the first time, or leave the header out.",
    });
  }
  handedOut(cursor.eventId, found, "last-event-id");
  return { found, cursor };
}

function openTurn(
  gateway: Gateway,
  c: GatewayContext,
  parsed: ParsedTurn,
  { record, joined, continuity, resumeAfter }: Pick<OpenTurn, "record" | "joined" | "continuity" | "resumeAfter">,
): OpenTurn {
  const { turnId } = record;
  const size = sizeOf(gateway, record);
  gateway.log.write("debug", "turn requested", { requestId: c.requestId, turnId, joined });
  Object.assign(c.logFields, { turnId, joined, model: record.modelUid, client: record.client });
  return {
    turnId,
    record,
    resumeAfter,
    joined,
    continuity,
    context: contextOf(c, record, parsed, size),
    headers: {
      ...keptHeaders(record),
      "x-millrace-joined": joined,
      ...(size.compacted.length === 0 ? {} : { "x-millrace-compacted": size.compacted.join(", ") }),
      ...leftOutHeaders(parsed),
      ...modelHeaders(record),
    },
  };
}

/** The parts of a request that were left out, by type. */
export function leftOutHeaders({ ignoredTools = [], leftOut = [] }: ParsedTurn): Readonly<Record<string, string>> {
  return {
    ...(ignoredTools.length === 0 ? {} : { "x-millrace-ignored-tools": headerSafe(ignoredTools.join(", ")) }),
    ...(leftOut.length === 0 ? {} : { "x-millrace-left-out": headerSafe(leftOut.join(", ")) }),
  };
}

/** The size of a turn's prompt as it was laid out for its model. */
function sizeOf(gateway: Gateway, { request, modelUid }: Pick<TurnRecord, "request" | "modelUid">): PromptSize {
  return sizeOfAccepted(request, gateway.contextTokens?.(modelUid));
}

/** The context that an encoder needs. It comes from the turn's record, except for this reader's own wishes (`parsed.stream`, `parsed.wire`). */
function contextOf(
  c: GatewayContext,
  record: Pick<TurnRecord, "turnId" | "createdAtMs" | "request">,
  parsed: ParsedTurn,
  size: PromptSize,
): EncodeContext {
  const { turnId, createdAtMs, request } = record;
  return {
    turnId,
    createdAtMs,
    parsed: { ...parsed, request },
    requestId: c.requestId,
    promptTokens: size.tokens,
    estimateTokens,
  };
}

/** The context of a turn that is shown again, as its record has it. */
export function storedContext(gateway: Gateway, c: GatewayContext, record: TurnRecord, stream: boolean): EncodeContext {
  return contextOf(c, record, { request: record.request, stream, wire: record.wire }, sizeOf(gateway, record));
}

/** The model that answers, the requested name, and the rule between them: the same as for the request that began the turn. */
function modelHeaders({ modelUid, request, modelRule }: TurnRecord): Readonly<Record<string, string>> {
  return {
    "x-millrace-model": headerSafe(modelUid),
    "x-millrace-model-asked": headerSafe(request.model),
    ...(modelRule === undefined ? {} : { "x-millrace-model-rule": headerSafe(modelRule) }),
  };
}

/** Members that choose the delivery and not the answer: a client that gives up streaming asks for the same answer without it. */
const delivery = new Set(["stream", "stream_options"]);

/** Characters, and values, that are digested in one turn of the event loop: some 5 ms. */
const slice = 1 << 20;
const mostValues = 10_000;

/** A member of a block that says where the vendor's cache ends: it stands in the newest blocks, so it moves. */
const cacheMark = "cache_control";

/** An item that a response of this gateway gave out: thinking, or text. Source: `itemId` of the Responses API. */
const givenOut = /^(?:rs|msg)_[0-9a-z]{26}_\d+$/;

/** What Claude Code puts at the end of a request after it lost the answer in the middle. */
const cutNote = /^(?:<system-reminder>)?\s*Your response above was cut off mid-stream\b/;

/**
 * A digest of the question in a body, per API. A repeat has the same digest, also in another order of its members, without the streaming or
 * with a note that the answer was cut (Claude Code), and with the parts of the answer that arrived whole before the cut (Codex, Claude
 * Code). Source: docs/dev/wire/clients.md, "Silence and repeats".
 */
export async function fingerprintOf(dialect: string, body: unknown): Promise<string> {
  const hash = createHash("sha256").update(dialect).update("\0");
  let [waiting, values] = ["", 0];
  for (const text of textsOf(questionIn(body))) {
    waiting += text;
    if (++values < mostValues && waiting.length < slice) continue;
    hash.update(waiting, "utf16le"); // each character as it is, also half a pair
    [waiting, values] = ["", 0];
    await ownTurn();
  }
  return hash.update(waiting, "utf16le").digest("hex");
}

/** A value as texts that name no other value when joined: each length stands before what it counts. */
function* textsOf(whole: unknown): Generator<string, void> {
  const rest = [whole];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value === "string") {
      yield `"${value.length}:`;
      for (let at = 0; at < value.length; at += slice) yield value.slice(at, at + slice);
    } else if (Array.isArray(value)) {
      yield `[${value.length}:`;
      for (let i = value.length - 1; i >= 0; i--) rest.push(value[i]);
    } else if (typeof value === "object" && value !== null) {
      const members = Object.entries(value)
        .filter(([key]) => key !== cacheMark)
        .sort(([a], [b]) => (a < b ? -1 : 1));
      yield `{${members.length}:`;
      for (const [key, member] of members.reverse()) rest.push(member, key);
    } else yield `${String(value)};`;
  }
}

/** The body without what chooses the delivery, and without the beginning of its own answer. */
function questionIn(body: unknown): unknown {
  if (!isObject(body)) return body;
  const question = Object.fromEntries(Object.entries(body).filter(([key]) => !delivery.has(key)));
  const { input, messages } = question;
  if (Array.isArray(input)) question["input"] = input.slice(0, input.findLastIndex((item) => !isGivenOut(item)) + 1);
  if (Array.isArray(messages)) question["messages"] = withoutCut(messages);
  return question;
}

function isGivenOut(item: unknown): boolean {
  return isObject(item) && typeof item["id"] === "string" && givenOut.test(item["id"]);
}

/** The messages without notes at their end that the answer was cut, and without the blocks of that answer. */
function withoutCut(messages: readonly unknown[]): readonly unknown[] {
  let end = messages.length;
  for (;;) {
    const last = messages[end - 1];
    if (!isObject(last) || last["role"] !== "user") break;
    const given = last["content"];
    const blocks: readonly unknown[] = Array.isArray(given) ? given : [{ text: given }];
    const kept = blocks.findLastIndex((block) => !isCutNote(block)) + 1;
    if (kept === blocks.length) break;
    if (kept > 0) {
      const content = [...blocks.slice(0, kept - 1), withoutBreak(blocks[kept - 1])];
      return [...messages.slice(0, end - 1), { ...last, content }];
    }
    end -= 1;
    const answered = messages[end - 1];
    if (isObject(answered) && answered["role"] === "assistant") end -= 1;
  }
  return messages.slice(0, end);
}

function isCutNote(block: unknown): boolean {
  return isObject(block) && typeof block["text"] === "string" && cutNote.test(block["text"]);
}

/** A text that another one follows in its message gets a line break. */
function withoutBreak(block: unknown): unknown {
  return isObject(block) && typeof block["text"] === "string"
    ? { ...block, text: block["text"].replace(/\n$/, "") }
    : block;
}
