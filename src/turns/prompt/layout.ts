import type { Prompt, PromptForm } from "../../backends/backend.ts";
import type { CascadeId, ModelUid } from "../../base/ids.ts";
import type { TurnRequest } from "../../log/request.ts";
import { mapToolNames } from "../tools/names.ts";
import { type CompactionStep, compactionSteps, describeTool } from "./compaction.ts";
import { asTurns, type WrittenMessage, writeMessages } from "./conversation.ts";
import { estimatePromptTokens } from "./estimate.ts";
import { formatInstructions, splitSystem, toolInstructions } from "./instructions.ts";
import { promptBudget, tooLong, toolsBytes } from "./limits.ts";

/** The facts of a model that a layout needs. `contextTokens` is undefined if the list of models does not give it. */
export interface LayoutModel {
  readonly uid: ModelUid;
  readonly number: number | undefined;
  readonly contextTokens: number | undefined;
}

export interface LayoutOptions {
  /** A live trajectory that holds the first `heldMessages` of `request.messages`; only those after them are sent. */
  readonly continues?: { readonly cascadeId: CascadeId; readonly heldMessages: number };
}

/** A prompt, and what was shortened to make it fit (names for the `x-millrace-compacted` header, in order). */
export interface LaidOut {
  readonly prompt: Prompt;
  /** As `estimatePromptTokens` counts it. */
  readonly tokens: number;
  readonly compacted: readonly string[];
}

/**
 * Lays a request out as a prompt: leading system and developer texts, the tools and the form of the answer become the
 * instructions; the history becomes one text and, beside it, a list of turns. A request without answers in its history
 * is the user's text alone. Pure and deterministic.
 *
 * Tools' texts are shortened step by step (`compactionSteps`) past 30,000 bytes or when the whole does not fit the
 * model's window; the history never is.
 *
 * @throws MillraceError `context_too_long` naming the largest parts, when the last step is not enough.
 */
export function layoutPrompt(request: TurnRequest, model: LayoutModel, options: LayoutOptions = {}): LaidOut {
  if (options.continues !== undefined) return layOut(request, model, options);
  const { uid, number, contextTokens } = model;
  const before = whole.get(request);
  const isSame = before !== undefined && before.contextTokens === contextTokens;
  const laidOut = isSame ? before.laidOut : layOut(request, model, options);
  whole.set(request, { contextTokens, laidOut });
  return { ...laidOut, prompt: { ...laidOut.prompt, modelUid: uid, modelNumber: number } };
}

/** Caches the last layout of each request, because a turn's layout and its size are asked for one after the other. */
const whole = new WeakMap<TurnRequest, { readonly contextTokens: number | undefined; readonly laidOut: LaidOut }>();

function layOut(request: TurnRequest, model: LayoutModel, options: LayoutOptions): LaidOut {
  const names = mapToolNames(request.tools);
  const { system, rest } = splitSystem(request.messages);
  const plain = !rest.some((message) => message.role === "assistant" || message.role === "tool");
  const imagesOnly = rest.every(({ parts }) => parts.every(({ type }) => type === "image"));
  const { messages: written, suffix } = writeMessages(rest, names, !plain || imagesOnly);
  const { continues } = options;
  const sent =
    continues === undefined ? written : written.slice(continues.heldMessages - (request.messages.length - rest.length));
  const text = plain || continues !== undefined ? joined(sent) : conversationText(written, suffix);
  const format = formatInstructions(
    request.responseFormat,
    names.tools.length > 0 && request.toolChoice.type !== "none",
  );
  const budget = promptBudget(model.contextTokens, request.maxOutputTokens);
  const turns = asTurns(written);

  const promptAt = (steps: ReadonlySet<CompactionStep>): { readonly prompt: Prompt; readonly tools: string } => {
    const tools = toolInstructions(request, names, steps);
    const instructions = [...system, tools, format]
      .map((part) => part.trim())
      .filter((part) => part !== "")
      .join("\n\n");
    const prompt: Prompt = {
      modelUid: model.uid,
      modelNumber: model.number,
      instructions,
      text,
      messages: turns.at(-1)?.role === "assistant" ? [...turns, { role: "user", text: goOn }] : turns,
      images: sent.flatMap(({ images }) => images),
      maxOutputTokens: request.maxOutputTokens,
      continues: continues?.cascadeId,
      form: formOf(request, names.tools.length > 0),
    };
    return { prompt, tools };
  };

  const steps = new Set<CompactionStep>();
  const compacted: string[] = [];
  let laidOut = promptAt(steps);
  let tokens = estimatePromptTokens(laidOut.prompt);
  for (const step of compactionSteps) {
    if (laidOut.tools === "" || (byteLength(laidOut.tools) <= toolsBytes && tokens <= budget)) break;
    const before = laidOut.tools;
    laidOut = promptAt(steps.add(step));
    tokens = estimatePromptTokens(laidOut.prompt);
    if (laidOut.tools !== before) compacted.push(step);
  }
  if (tokens > budget) {
    throw tooLong(laidOut.prompt, budget, [
      ...(system.length === 0 ? [] : [{ name: "the system text", text: system.join("\n\n") }]),
      ...names.tools.map((tool) => ({ name: `the tool ${tool.tool.name}`, text: describeTool(tool, steps) })),
      ...sent,
    ]);
  }
  return { prompt: laidOut.prompt, tokens, compacted };
}

/** Sent in the user's place when the last message is the assistant's own beginning of an answer. */
const goOn = "Go on with your last message exactly where it ends, without repeating any of it.";

function joined(messages: readonly WrittenMessage[]): string {
  return messages.map(({ text }) => text).join("\n\n");
}

/** The history in tags, and after it, without tags, the messages to answer: those after the last answer. */
function conversationText(messages: readonly WrittenMessage[], suffix: string): string {
  const lastAnswer = messages.findLastIndex((message) => message.role === "assistant");
  const history = messages
    .slice(0, lastAnswer + 1)
    .map(({ role, text }) =>
      role === "tool" ? text : `<message${suffix} role="${role}">\n${text}\n</message${suffix}>`,
    );
  const now = messages.slice(lastAnswer + 1);
  return [
    "This is the conversation so far, oldest message first. Answer what follows it; do not repeat it.",
    `<conversation${suffix}>\n${history.join("\n")}\n</conversation${suffix}>`,
    now.length === 0 ? goOn : joined(now),
  ].join("\n\n");
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function formOf({ responseFormat, toolChoice }: TurnRequest, hasTools: boolean): PromptForm {
  if (hasTools && toolChoice.type !== "none") return "tools";
  return responseFormat.type === "text" ? "text" : "json";
}
