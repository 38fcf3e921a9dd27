import type { ErrorRecord } from "../../base/errors.ts";
import { isObject, parseJson } from "../../base/json.ts";
import {
  type CancelledBy,
  type FinishReason,
  type IdeToolNames,
  ideToolsOf,
  type TurnEventBody,
  type Usage,
} from "../../log/event.ts";
import type { Message, TurnRequest } from "../../log/request.ts";

/** Visible text, or the model's thinking. */
export interface TextBlock<Kind extends "text" | "thinking"> {
  readonly kind: Kind;
  readonly index: number;
  text: string;
}

export interface ToolCallBlock {
  readonly kind: "tool_call";
  readonly index: number;
  /** Counts tool calls only, from 0. */
  readonly callIndex: number;
  readonly callId: string;
  readonly name: string;
  readonly freeform: boolean;
  readonly arguments: string;
}

/** A piece of an answer. Blocks follow each other: one is closed before the next opens. `index` counts from 0 over all kinds. */
export type Block = TextBlock<"text"> | TextBlock<"thinking"> | ToolCallBlock;

/** The texts of one kind, joined. */
export function textOf(blocks: readonly Block[], kind: "text" | "thinking" = "text"): string {
  let text = "";
  for (const block of blocks) if (block.kind === kind) text += block.text;
  return text;
}

/** An answer as the message that a later request continues from. */
export function answerMessage(blocks: readonly Block[]): Message & { readonly role: "assistant" } {
  const text = textOf(blocks);
  const thinking = textOf(blocks, "thinking");
  const calls = blocks.filter((block) => block.kind === "tool_call");
  return {
    role: "assistant",
    parts: text === "" ? [] : [{ type: "text", text }],
    ...(thinking === "" ? {} : { thinking }),
    toolCalls: calls.map(({ callId, name, arguments: written, freeform }) => ({
      callId,
      name,
      arguments: written,
      kind: freeform ? "freeform" : "function",
    })),
  };
}

/** How an answer ended. `finished` carries the reason that the content bears out: `tool_calls` if and only if there are calls. */
export type AnswerEnd =
  | { readonly type: "finished"; readonly reason: FinishReason; readonly ideTools?: IdeToolNames }
  | { readonly type: "failed"; readonly error: ErrorRecord; readonly ideTools?: IdeToolNames }
  | { readonly type: "cancelled"; readonly by: CancelledBy };

/** The member at the end of an answer that names the tools that the IDE's agent used; empty if it used none. */
export function millraceEnd(end: AnswerEnd | undefined): { readonly millrace?: { readonly ide_tools: IdeToolNames } } {
  if (end === undefined || end.type === "cancelled" || end.ideTools === undefined) return {};
  return { millrace: { ide_tools: end.ideTools } };
}

/** An answer as far as the events go. */
export interface Answer {
  /** Every block that was opened; a rewrite can leave one without text. */
  readonly blocks: readonly Block[];
  readonly usage: Usage | undefined;
  readonly end: AnswerEnd | undefined;
  /** When the upstream had the conversation, when the first of the answer came, and when it ended; epoch ms, where its events tell. */
  readonly startedAtMs?: number | undefined;
  readonly firstAtMs?: number | undefined;
  readonly endedAtMs?: number | undefined;
}

/**
 * The change that one event made. `rewritten`: text that was already sent is no longer right. `text` is the whole visible text after
 * this step. `delta` is the text that must still be sent so that the end is complete (see `afterRewrite`).
 */
export type AnswerStep =
  | { readonly type: "open" | "close"; readonly block: Block }
  | { readonly type: "delta"; readonly block: Block; readonly delta: string }
  | { readonly type: "rewritten"; readonly block: Block; readonly delta: string; readonly text: string }
  | { readonly type: "end"; readonly end: AnswerEnd };

type ToolCallEvent = Extract<TurnEventBody, { type: "tool_call" }>;
type SaidEvent = Extract<TurnEventBody, { type: "text" | "thinking" }>;

/**
 * Puts a turn's events in the order that every API can carry: blocks one after the other, calls never interleaved, rewritten text
 * marked apart from appended text. A call opens, has one delta and closes at once. Encoders read the steps and non-streamed answers
 * read `answer`, so both agree.
 */
export class AnswerFold {
  readonly #blocks: Block[] = [];
  readonly #freeform: ReadonlySet<string>;
  #calls = 0;
  #open: Block | undefined;
  #usage: Usage | undefined;
  #end: AnswerEnd | undefined;
  #startedAtMs: number | undefined;
  #firstAtMs: number | undefined;
  #endedAtMs: number | undefined;

  constructor(request: Pick<TurnRequest, "tools">) {
    this.#freeform = new Set(request.tools.filter((tool) => tool.kind === "freeform").map((tool) => tool.name));
  }

  get answer(): Answer {
    const times = { startedAtMs: this.#startedAtMs, firstAtMs: this.#firstAtMs, endedAtMs: this.#endedAtMs };
    return { blocks: this.#blocks, usage: this.#usage, end: this.#end, ...times };
  }

  /** The visible text as it stands: all text blocks, joined. */
  get text(): string {
    return textOf(this.#blocks);
  }

  push(event: TurnEventBody & { readonly atMs?: number }): readonly AnswerStep[] {
    if (this.#end !== undefined) return [];
    if (event.type === "finished" || event.type === "failed" || event.type === "cancelled")
      this.#endedAtMs = event.atMs;
    else if (event.type === "started") this.#startedAtMs ??= event.atMs;
    else if (event.type !== "usage") this.#firstAtMs ??= event.atMs;
    const steps: AnswerStep[] = [];
    switch (event.type) {
      case "started":
        break;
      case "usage":
        this.#usage = event;
        break;
      case "text":
      case "thinking":
        this.#say(event, steps);
        break;
      case "rewritten":
        this.#rewrite(event.text, steps, event.moved);
        break;
      case "tool_call":
        this.#call(event, steps);
        break;
      case "finished":
        if (event.text !== this.text) this.#rewrite(event.text, steps);
        this.#close(steps);
        this.#finish({ type: "finished", reason: this.#reason(event.reason), ...ideToolsOf(event) }, steps);
        break;
      case "failed":
      case "cancelled":
        this.#close(steps);
        this.#finish(
          event.type === "failed"
            ? { type: "failed", error: event.error, ...ideToolsOf(event) }
            : { type: "cancelled", by: event.by },
          steps,
        );
        break;
      default:
        event satisfies never;
    }
    return steps;
  }

  #say({ type, delta }: SaidEvent, steps: AnswerStep[]): void {
    if (delta === "") return;
    const block = this.#textBlock(type, steps);
    block.text += delta;
    steps.push({ type: "delta", block, delta });
  }

  #call({ callId, name, argumentsDelta }: ToolCallEvent, steps: AnswerStep[]): void {
    this.#close(steps);
    const freeform = this.#freeform.has(name);
    // Clients parse the arguments of a call without parameters too. Source: docs/dev/wire/requirements.json.
    const delta = !freeform && argumentsDelta.trim() === "" ? "{}" : argumentsDelta;
    const place = { index: this.#blocks.length, callIndex: this.#calls++ };
    const block = { kind: "tool_call", ...place, callId, name, freeform, arguments: delta } as const;
    this.#start(block, steps);
    if (delta !== "") steps.push({ type: "delta", block, delta });
    this.#close(steps);
  }

  #rewrite(text: string, steps: AnswerStep[], moved?: true): void {
    const before = this.text;
    if (text === before) return;
    const block = this.#textBlock("text", steps);
    if (text.startsWith(before)) {
      const delta = text.slice(before.length);
      block.text += delta;
      steps.push({ type: "delta", block, delta });
      return;
    }
    this.#spread(text, block);
    steps.push({ type: "rewritten", block, delta: moved ? "" : afterRewrite(before, text), text });
  }

  /** Distributes the new text over the blocks: every earlier text block keeps the part that is still true, and the last one takes the rest. */
  #spread(text: string, last: Block): void {
    let position = 0;
    let diverged = false;
    for (const block of this.#blocks) {
      if (block.kind !== "text") continue;
      if (block === last) block.text = text.slice(position);
      else if (diverged) block.text = "";
      else if (text.startsWith(block.text, position)) position += block.text.length;
      else {
        diverged = true;
        block.text = commonStart(block.text, text.slice(position));
        position += block.text.length;
      }
    }
  }

  #textBlock(kind: "text" | "thinking", steps: AnswerStep[]): TextBlock<"text"> | TextBlock<"thinking"> {
    const open = this.#open;
    if (open !== undefined && open.kind !== "tool_call" && open.kind === kind) return open;
    this.#close(steps);
    const block = { kind, index: this.#blocks.length, text: "" } as TextBlock<"text"> | TextBlock<"thinking">; // one per kind
    this.#start(block, steps);
    return block;
  }

  #start(block: Block, steps: AnswerStep[]): void {
    this.#blocks.push(block);
    this.#open = block;
    steps.push({ type: "open", block });
  }

  #close(steps: AnswerStep[]): void {
    const block = this.#open;
    if (block === undefined) return;
    this.#open = undefined;
    steps.push({ type: "close", block });
  }

  #reason(reason: FinishReason): FinishReason {
    const called = this.#calls > 0;
    if (called && reason.unified === "stop") return { ...reason, unified: "tool_calls" };
    if (!called && reason.unified === "tool_calls") return { ...reason, unified: "stop" };
    return reason;
  }

  #finish(end: AnswerEnd, steps: AnswerStep[]): void {
    this.#end = end;
    steps.push({ type: "end", end });
  }
}

/** Parses arguments that were checked before. A text that is still no JSON object is kept under a member whose name tells so. */
export function argumentsObject(text: string): unknown {
  try {
    const input: unknown = parseJson(text);
    if (isObject(input)) return input;
  } catch {
    // not JSON: kept as text below
  }
  return { unparsed: text };
}

/** Fewer characters than this in common are taken for chance. */
const trustedOverlap = 8;

/**
 * The text to send after `sent` when the answer turns out to be `text`, which does not continue `sent`. Sent text cannot be recalled,
 * so the end must be complete, and repeated text is better than missing text. The longest tail of `sent` that is also in `text` marks
 * the client's place; the text after it is sent. Without such a tail, everything after the common beginning is sent.
 */
export function afterRewrite(sent: string, text: string): string {
  const common = commonStart(sent, text).length;
  if (common === text.length) return ""; // cut short: all of it was sent
  const overlap = longestTailIn(sent, text, common);
  if (overlap === undefined) return text.slice(wholeCharacters(text, common));
  return text.slice(overlap.end);
}

/** The common beginning of two texts. */
export function commonStart(a: string, b: string): string {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}

function longestTailIn(sent: string, text: string, from: number): { readonly end: number } | undefined {
  const find = (length: number) => text.indexOf(sent.slice(sent.length - length), Math.max(0, from - length + 1));
  let [low, high] = [0, Math.min(sent.length, text.length)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (find(middle) >= 0) low = middle;
    else high = middle - 1;
  }
  return low >= Math.min(trustedOverlap, sent.length) && low > 0 ? { end: find(low) + low } : undefined;
}

/** Steps back where a cut would halve a surrogate pair. */
function wholeCharacters(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return at > 0 && code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}
