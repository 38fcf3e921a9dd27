import { createHash } from "node:crypto";
import { parkedReason } from "../../backends/backend.ts";
import { parseJson, writeJson } from "../../base/json.ts";
import type { FinishReason, TurnEventBody } from "../../log/event.ts";
import type { Message, Part, TurnRequest } from "../../log/request.ts";
import { modelTexts, splitSystem } from "../prompt/instructions.ts";

/** The part of a conversation that a client can see, as digests. Equal digests mean that nothing visible differs. */
export interface VisibleHistory {
  readonly model: string;
  readonly instructions: string;
  readonly tools: string;
  /** Of all messages but the instructions, in order. */
  readonly messages: string;
}

/** The answer of a turn as its client sees it. */
export interface VisibleAnswer {
  readonly text: string;
  readonly calls: readonly { readonly callId: string; readonly name: string; readonly arguments: string }[];
  /** Its prompt goes on: the agent waits for the results of the calls. */
  readonly waits?: boolean;
}

/** The answer that these events end with. */
export function visibleAnswer(
  events: readonly TurnEventBody[],
  { reason, text }: Pick<TurnEventBody & { readonly type: "finished" }, "reason" | "text">,
): VisibleAnswer {
  const calls = new Map<string, VisibleAnswer["calls"][number]>();
  for (const event of events) {
    if (event.type !== "tool_call") continue;
    const { callId, name, argumentsDelta } = event;
    calls.set(callId, { callId, name, arguments: (calls.get(callId)?.arguments ?? "") + argumentsDelta });
  }
  return { text, calls: [...calls.values()], waits: waits({ reason }) };
}

/** Whether the prompt of an answer that ends so goes on: the agent waits for the results of its calls. */
export function waits({ reason }: { readonly reason: FinishReason }): boolean {
  return reason.raw === parkedReason;
}

/**
 * The part of a request's history that a live trajectory may hold: all up to the last answer. Undefined when there is no
 * answer yet, or nothing new after it. `heldMessages` counts `request.messages`.
 */
export function heldPart(request: TurnRequest, modelUid: string): HistoryPart | undefined {
  const known = parts.get(request);
  if (known?.modelUid === modelUid) return known.part;
  const part = findHeldPart(request, modelUid);
  parts.set(request, { modelUid, part });
  return part;
}

interface HistoryPart {
  readonly history: VisibleHistory;
  readonly heldMessages: number;
}

/** Caches the part of each request, because the start of a turn asks for it four times and it hashes the whole history. */
const parts = new WeakMap<TurnRequest, { readonly modelUid: string; readonly part: HistoryPart | undefined }>();

function findHeldPart(request: TurnRequest, modelUid: string): HistoryPart | undefined {
  const lastAnswer = request.messages.findLastIndex(({ role }) => role === "assistant");
  const heldMessages = lastAnswer + 1;
  if (lastAnswer === -1 || heldMessages === request.messages.length) return undefined;
  return { history: digest(request, modelUid, request.messages.slice(0, heldMessages)), heldMessages };
}

/** The history of a trajectory after it has given this answer to this request. */
export function historyAfter(request: TurnRequest, modelUid: string, answer: VisibleAnswer): VisibleHistory {
  const message: Message = {
    role: "assistant",
    parts: [{ type: "text", text: answer.text }],
    toolCalls: answer.calls.map((call) => ({ ...call, kind: "function" })),
  };
  return digest(request, modelUid, [...request.messages, message]);
}

function digest(request: TurnRequest, modelUid: string, messages: readonly Message[]): VisibleHistory {
  const { system, rest } = splitSystem(messages);
  const calls = new Map<string, string>();
  let answers = 0;
  const lines = joinAnswers(rest).map((message) => {
    if (message.role === "assistant") {
      answers++;
      message.toolCalls.forEach((call, index) => calls.set(call.callId, `${answers}.${index}`));
    }
    return visible(message, calls);
  });
  return {
    model: modelUid,
    instructions: hash(system.map(withoutVolatile)),
    tools: hash(request.tools),
    messages: hash(lines),
  };
}

/** One message for each answer: a client of Responses sends back one for each item, and an answer that pauses to think has several. */
function joinAnswers(messages: readonly Message[]): readonly Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role === "assistant" && last?.role === "assistant") {
      const parts = [...last.parts, ...message.parts];
      joined[joined.length - 1] = { ...last, parts, toolCalls: [...last.toolCalls, ...message.toolCalls] };
    } else joined.push(message);
  }
  return joined;
}

/** Call ids are the client's own affair: results are tied to calls by their place. Thinking may be dropped by clients. */
function visible(message: Message, calls: ReadonlyMap<string, string>): unknown {
  switch (message.role) {
    case "assistant":
      return [
        "assistant",
        textOf(message.parts).trim(),
        message.toolCalls.map((call) => [call.name, canonical(call.arguments)]),
      ];
    case "tool":
      return ["tool", calls.get(message.callId) ?? "?", message.isError, message.parts.map(partKey)];
    case "user":
    case "system":
      return [message.role, message.parts.map(partKey)];
    default:
      return message satisfies never;
  }
}

function partKey(part: Part): unknown {
  return part.type === "text"
    ? modelTexts([part])
    : [part.mimeType, createHash("sha256").update(part.base64, "latin1").digest("base64url")];
}

function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** JSON arguments in one fixed form, so that white space and order do not count; other text unchanged. */
function canonical(text: string): unknown {
  try {
    return sorted(parseJson(text));
  } catch {
    return text;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => [key, sorted(member)]);
}

/** Parts of a system text that clients write anew each time: environment, dates, the state of a repository. */
const volatile = [
  /<env>[^]*?<\/env>/g,
  /^gitStatus:[^]*?(?=\n\n(?! )|$(?![^]))/gm,
  /^.*\b(?:today'?s? date|current (?:date|time|working directory)|date and time)\b.*$/gim,
  /\b\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?/g,
];

/**
 * A system text for the digest only; the model always gets it whole.
 * Source: docs/dev/wire/clients.md, "System prompts that change".
 */
export function withoutVolatile(text: string): string {
  return volatile.reduce((rest, form) => rest.replace(form, ""), text);
}

function hash(value: unknown): string {
  return createHash("sha256").update(writeJson(value)).digest("base64url");
}
