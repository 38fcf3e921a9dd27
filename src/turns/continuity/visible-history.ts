import { isAscii } from "node:buffer";
import { createHash } from "node:crypto";
import { isAwaited, parkedReason } from "../../backends/backend.ts";
import { isObject, type JsonObject, numberOf, objectOf, parseJson, writeJson } from "../../base/json.ts";
import type { FinishReason, TurnEventBody } from "../../log/event.ts";
import type { Message, Tool, TurnRequest } from "../../log/request.ts";
import { modelTexts, splitSystem } from "../prompt/instructions.ts";

/** The part of a conversation that a client can see, as digests. `isHeldIn` compares two of them. */
export interface VisibleHistory {
  readonly model: string;
  readonly instructions: string;
  readonly tools: string;
  /** Of all messages but the instructions, in order, without the arguments of calls. */
  readonly messages: string;
  /** The arguments of all calls, in order. Long texts are digests. */
  readonly calls: readonly unknown[];
}

/** The answer of a turn as its client sees it. */
export interface VisibleAnswer {
  readonly text: string;
  readonly calls: readonly { readonly callId: string; readonly name: string; readonly arguments: string }[];
}

/** The answer that these events end with. */
export function visibleAnswer(
  events: readonly TurnEventBody[],
  { text }: Pick<TurnEventBody & { readonly type: "finished" }, "text">,
): VisibleAnswer {
  const calls = events.filter((event) => event.type === "tool_call");
  return {
    text,
    calls: calls.map(({ callId, name, argumentsDelta }) => ({ callId, name, arguments: argumentsDelta })),
  };
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

export interface HistoryPart {
  readonly history: VisibleHistory;
  /** Its last answer has calls whose results an agent waits for, if its prompt goes on: the session's own table decides that. */
  readonly awaits: boolean;
  readonly heldMessages: number;
}

/** Caches the part of each request, because the start of a turn asks for it four times and it hashes the whole history. */
const parts = new WeakMap<TurnRequest, { readonly modelUid: string; readonly part: HistoryPart | undefined }>();

function findHeldPart(request: TurnRequest, modelUid: string): HistoryPart | undefined {
  const lastAnswer = request.messages.findLastIndex(({ role }) => role === "assistant");
  const heldMessages = lastAnswer + 1;
  if (lastAnswer === -1 || heldMessages === request.messages.length) return undefined;
  const held = request.messages.slice(0, heldMessages);
  const answer = held.at(-1);
  const awaits = answer?.role === "assistant" && answer.toolCalls.some(({ callId }) => isAwaited(callId));
  return { history: digest(request, modelUid, held), awaits, heldMessages };
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
  const lines = joinMessages(rest).map((message) => {
    if (message.role === "assistant") {
      answers++;
      message.toolCalls.forEach((call, index) => calls.set(call.callId, `${answers}.${index}`));
    }
    return visible(message, calls);
  });
  return {
    model: modelUid,
    instructions: hash(dense(system.map(withoutVolatile).join(""))),
    tools: hash(request.tools),
    messages: hash(inOrder(lines)),
    calls: [...argumentsIn(rest, request.tools)],
  };
}

/**
 * Whether a client shows what a conversation holds: the same texts, and calls with at least the members that they have there. Clients add
 * members to the calls that they send back, such as the defaults of their own schema.
 */
export function isHeldIn(shown: VisibleHistory, held: VisibleHistory): boolean {
  const { model, instructions, messages, calls } = held;
  return (
    model === shown.model &&
    instructions === shown.instructions &&
    messages === shown.messages &&
    calls.length === shown.calls.length &&
    calls.every((call, i) => covers(shown.calls[i], call))
  );
}

/** Whether a value has every member of the other one. A member that is null may be missing. */
function covers(shown: unknown, held: unknown): boolean {
  if (Array.isArray(held))
    return Array.isArray(shown) && shown.length === held.length && held.every((item, i) => covers(shown[i], item));
  if (isObject(held))
    return isObject(shown) && Object.entries(held).every(([key, member]) => covers(shown[key], member));
  return held === shown || (held === null && shown === undefined);
}

/** The arguments of all calls, with the defaults of their tools' schemas filled in. */
function* argumentsIn(messages: readonly Message[], tools: readonly Tool[]): Generator<unknown, void> {
  const schemas = new Map(tools.map(({ name, parameters }) => [name, parameters]));
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const call of message.toolCalls) yield valueOf(call.arguments, schemas.get(call.name));
  }
}

/** JSON arguments as their value; another text in one fixed form. */
function valueOf(text: string, schema: unknown): unknown {
  try {
    return shortened(parseJson(text), schema);
  } catch {
    return hash(dense(text));
  }
}

/** Longer texts are kept as digests. */
const longText = 64;

/** A value with its schema's defaults, its numbers as the nearest doubles, and digests in place of long texts. */
function shortened(value: unknown, schema: unknown): unknown {
  const { properties, items } = objectOf(schema);
  if (typeof value === "string") return value.length > longText ? hash(value.normalize("NFC")) : value.normalize("NFC");
  if (Array.isArray(value)) return value.map((item: unknown) => shortened(item, items));
  if (!isObject(value)) return numberOf(value) ?? value;
  const known = objectOf(properties);
  const defaults = Object.entries(known).flatMap(([key, member]) =>
    isObject(member) && Object.hasOwn(member, "default") ? [[key, member["default"]] as const] : [],
  );
  const filled: JsonObject = { ...Object.fromEntries(defaults), ...value };
  return Object.fromEntries(Object.entries(filled).map(([key, member]) => [key, shortened(member, known[key])]));
}

/** One message for each run of one role: a client may send back each part of an answer or of a question as a message of its own. */
function joinMessages(messages: readonly Message[]): readonly Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role === "assistant" && last?.role === "assistant") {
      const parts = [...last.parts, ...message.parts];
      joined[joined.length - 1] = { ...last, parts, toolCalls: [...last.toolCalls, ...message.toolCalls] };
    } else if ((message.role === "user" || message.role === "system") && last?.role === message.role)
      joined[joined.length - 1] = { ...message, parts: [...last.parts, ...message.parts] };
    else joined.push(message);
  }
  return joined;
}

/**
 * Call ids are the client's own affair: results are tied to calls by their place. Thinking may be dropped by clients; old pictures are too, or
 * made smaller, while the answers to them stay.
 */
function visible(message: Message, calls: ReadonlyMap<string, string>): readonly unknown[] {
  const shown = dense(modelTexts(message.parts).join(""));
  switch (message.role) {
    case "assistant":
      return [message.role, shown, message.toolCalls.map(({ name }) => name)];
    case "tool":
      return [message.role, calls.get(message.callId) ?? "?", message.isError, shown];
    case "user":
    case "system":
      return [message.role, shown];
    default:
      return message satisfies never;
  }
}

/** The results of one answer's calls in the order of the calls: clients send them as they came. */
function inOrder(lines: readonly (readonly unknown[])[]): readonly unknown[] {
  const isResult = (line: readonly unknown[] | undefined) => line?.[0] === "tool";
  const runs: (readonly unknown[])[][] = [];
  for (const line of lines) {
    const run = runs.at(-1);
    if (run !== undefined && isResult(run[0]) && isResult(line)) run.push(line);
    else runs.push([line]);
  }
  return runs.flatMap((run) =>
    run.toSorted((a, b) => String(a[1]).localeCompare(String(b[1]), "en", { numeric: true })),
  );
}

/** A text without white space, its letters composed: clients trim texts, split and join them. A long one is its digest. */
function dense(text: string): string {
  const bytes = Buffer.from(text);
  if (!isAscii(bytes)) return text.replace(/\s+/g, "").normalize("NFC");
  let length = 0; // a loop: the expression takes ten times as long, 0.4 s for 8 MB
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte !== 0x20 && (byte < 0x09 || byte > 0x0d)) bytes[length++] = byte;
  }
  const shown = bytes.subarray(0, length);
  return length > longDense ? createHash("sha256").update(shown).digest("base64url") : shown.toString("latin1");
}

/** From so many bytes on, the digest of a text takes less time than its JSON. */
const longDense = 65_536;

/** Parts of a system text that clients write anew each time: environment, dates, the state of a repository. */
const volatile = [
  /^gitStatus:[^]*?(?=\n\n(?! )|$(?![^]))/gm,
  /^.*\b(?:today'?s? date|current (?:date|time|working directory)|date and time)\b.*$/gim,
  /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?)?/g,
  /\b\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\b)?/gi,
  /\b\d{1,4}[./]\d{1,2}[./]\d{2,4}\b/g,
  /\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b/gi,
  /\b(?:\d{1,2}\.? )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?(?: \d{1,2}(?:st|nd|rd|th)?\b)?(?:,? \d{4}\b)/gi,
];

/**
 * A system text for the digest only; the model always gets it whole.
 * Source: docs/dev/wire/clients.md, "System prompts that change".
 */
export function withoutVolatile(text: string): string {
  const end = text.lastIndexOf("</env>") + 1; // behind it nothing ends, and each search would go to the end of the text
  const shown = text.slice(0, end).replace(/<env>[^]*?<\/env>/g, "") + text.slice(end);
  return volatile.reduce((rest, form) => rest.replace(form, ""), shown);
}

function hash(value: unknown): string {
  return createHash("sha256").update(writeJson(value)).digest("base64url");
}
