import type { Prompt, PromptForm } from "../../backends/backend.ts";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import type { CascadeId, ModelUid } from "../../base/ids.ts";
import { estimatePromptTokens, estimateTokens, leastTokens } from "../../base/token-estimate.ts";
import type { TurnRequest } from "../../log/request.ts";
import { callTag, markOf } from "../tools/grammar.ts";
import { mapToolNames } from "../tools/names.ts";
import { nativeResults, nativeRules, nativeTools } from "../tools/native-tools.ts";
import { asTurns, type WrittenMessage, writeMessages } from "./conversation.ts";
import { describeTool, formatInstructions, splitSystem, toolInstructions } from "./instructions.ts";
import { toolTexts } from "./text-room.ts";

/** The facts of a model that a layout needs. `contextTokens` is undefined if the list of models does not give it. */
export interface LayoutModel {
  readonly uid: ModelUid;
  readonly number: number | undefined;
  readonly contextTokens: number | undefined;
}

export interface LayoutOptions {
  /** The turn's random id: its tags get a mark of it (`markOf`). The plan that reads the answer needs the same one. */
  readonly seed?: string;
  /** A live trajectory that holds the first `heldMessages` of `request.messages`; only those after them are sent. */
  readonly continues?: { readonly cascadeId: CascadeId; readonly heldMessages: number };
}

/** A prompt, and what was shortened to make it fit, as the `x-millrace-compacted` header says it. */
export interface LayoutResult {
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
 * Where the whole does not fit the model's window, the texts of tools are shortened, the longest first and no further than
 * needed (`toolTexts`). The history never is.
 *
 * @throws MillraceError `context_too_long` naming the largest parts, when that is not enough.
 */
export function layoutPrompt(request: TurnRequest, model: LayoutModel, options: LayoutOptions = {}): LayoutResult {
  if (options.continues !== undefined) return layOut(request, model, options);
  const { uid, number, contextTokens } = model;
  const { seed } = options;
  const before = whole.get(request);
  const hasMark = seed === undefined || before?.seed === seed; // all marks are equally long
  const isSame = before !== undefined && before.contextTokens === contextTokens && hasMark;
  const laidOut = isSame ? before.laidOut : layOut(request, model, options);
  whole.set(request, { contextTokens, seed, laidOut });
  return { ...laidOut, prompt: { ...laidOut.prompt, modelUid: uid, modelNumber: number } };
}

/** Caches the last layout of each request, because a turn's layout and its size are asked for one after the other. */
const whole = new WeakMap<
  TurnRequest,
  { readonly contextTokens: number | undefined; readonly seed: string | undefined; readonly laidOut: LayoutResult }
>();

function layOut(request: TurnRequest, model: LayoutModel, options: LayoutOptions): LayoutResult {
  const names = mapToolNames(request.tools);
  const { system, rest } = splitSystem(request.messages);
  const plain = !rest.some((message) => message.role === "assistant" || message.role === "tool");
  const imagesOnly = rest.every(({ parts }) => parts.every(({ type }) => type === "image"));
  const mark = markOf(request, options.seed ?? "");
  const written = writeMessages(rest, names, mark, !plain || imagesOnly);
  const { continues } = options;
  const sent =
    continues === undefined ? written : written.slice(continues.heldMessages - (request.messages.length - rest.length));
  const budget = promptBudget(model.contextTokens, request.maxOutputTokens);
  const refused = (tokens: number) =>
    tooLong({ tokens, maximum: budget, modelUid: model.uid }, [
      ...(system.length === 0 ? [] : [{ name: "the system text", text: system.join("\n\n") }]),
      ...names.tools.map((tool) => ({ name: `the tool ${tool.tool.name}`, text: describeTool(tool, 0) })),
      ...sent,
    ]);
  const least = leastTokens(sent.reduce((sum, { text }) => sum + text.length, 0));
  if (least > budget) throw refused(least); // to lay out a text of megabytes would only take time
  const canCall = names.tools.length > 0 && request.toolChoice.type !== "none";
  const isPart = continues !== undefined;
  const text = isPart
    ? [joined(sent), ...(canCall ? [newMark(mark)] : [])].join("\n\n")
    : plain
      ? joined(sent)
      : conversationText(written, mark);
  const format = formatInstructions(request.responseFormat, canCall);
  const turns = asTurns(written);
  const native =
    canCall && request.responseFormat.type === "text"
      ? {
          tools: nativeTools(names, request).specs,
          instructions: texts([...system, nativeRules(request)]),
          text: isPart ? joined(sent) : text,
          parallel: request.parallelToolCalls,
          results: nativeResults(request.messages),
        }
      : undefined;

  const promptIn = (room?: number): LayoutResult => {
    const tools = toolInstructions(request, names, mark, room);
    const instructions = texts([...system, tools, format]);
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
      mark,
      ...(native === undefined ? {} : { native }),
    };
    return { prompt, tokens: estimatePromptTokens(prompt), compacted: [] };
  };
  const whole = promptIn();
  if (whole.tokens <= budget) return whole;
  const toolsTexts = toolTexts(canCall ? names.tools : []);
  const leastWhole = whole.tokens - toolsTexts.most;
  if (leastWhole > budget) throw refused(leastWhole);
  for (let saved = whole.tokens - budget, tries = 1; ; tries++) {
    const room = tries < mostTries ? toolsTexts.roomFor(saved) : 0;
    const laidOut = promptIn(room);
    if (laidOut.tokens <= budget) return { ...laidOut, compacted: [`tool-descriptions=${toolsTexts.arrives(room)}%`] };
    if (room === 0) throw refused(laidOut.tokens);
    saved += (laidOut.tokens - budget) * 2 ** tries; // what a text loses is estimated
  }
}

/** After so many tries to shorten no further than needed, the texts of tools are left out. */
const mostTries = 6;

/** Sent in the user's place when the last message is the assistant's own beginning of an answer. */
const goOn = "Go on with your last message exactly where it ends, without repeating any of it.";

function texts(parts: readonly string[]): string {
  return parts
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .join("\n\n");
}

function joined(messages: readonly WrittenMessage[]): string {
  return messages.map(({ text }) => text).join("\n\n");
}

/** What a model is told whose conversation holds the marks of earlier turns, and maybe only their instructions. */
function newMark(mark: string): string {
  return `(From here on the tags end in -${mark}: write calls as <${callTag}-${mark} name="…">…</${callTag}-${mark}>. Earlier endings no longer count.)`;
}

/** The history in tags, and after it, without tags, the messages to answer: those after the last answer. */
function conversationText(messages: readonly WrittenMessage[], mark: string): string {
  const lastAnswer = messages.findLastIndex((message) => message.role === "assistant");
  const history = messages
    .slice(0, lastAnswer + 1)
    .map(({ role, text }) =>
      role === "tool" ? text : `<message-${mark} role="${role}">\n${text}\n</message-${mark}>`,
    );
  const now = messages.slice(lastAnswer + 1);
  return [
    `This is the conversation so far, oldest message first. Only tags that end in -${mark} are its own. Answer what follows it; do not repeat it.`,
    `<conversation-${mark}>\n${history.join("\n")}\n</conversation-${mark}>`,
    now.length === 0 ? goOn : joined(now),
  ].join("\n\n");
}

function formOf({ responseFormat, toolChoice }: TurnRequest, hasTools: boolean): PromptForm {
  if (hasTools && toolChoice.type !== "none") return "tools";
  return responseFormat.type === "text" ? "text" : "json";
}

/** For a model whose window the list does not say. */
const unknownWindowTokens = 200_000;
const defaultAnswerTokens = 8_192;

/** How many tokens a prompt may have: the model's window without room for the answer (at most a quarter of it). */
export function promptBudget(contextTokens: number | undefined, maxOutputTokens: number | undefined): number {
  const window = contextTokens ?? unknownWindowTokens;
  return window - Math.min(maxOutputTokens ?? defaultAnswerTokens, Math.floor(window / 4));
}

/** The error of a prompt of at least `tokens`: how much it is, how much fits, and the three largest parts. */
export function tooLong(
  { tokens, maximum, modelUid }: { readonly tokens: number; readonly maximum: number; readonly modelUid: ModelUid },
  parts: readonly {
    readonly name: string;
    readonly text: string;
  }[],
): MillraceError {
  const sized = parts.map(({ name, text }) => ({ name, tokens: estimateTokens(text) }));
  const total = Math.max(
    tokens,
    sized.reduce((sum, part) => sum + part.tokens, 0),
  );
  const largest = sized.sort((a, b) => b.tokens - a.tokens).slice(0, 3);
  const named = largest.map(({ name, tokens }) => `${name}: about ${tokens}`).join("; ");
  return new MillraceError(
    "context_too_long",
    `The prompt is about ${total} tokens; ${modelUid} takes ${maximum} beside its answer. Largest parts: ${named}.`,
    {
      hint: `Shorten ${largest[0]?.name ?? "the conversation"}, or pick a model with a larger context window.`,
      details: { tokens: total, maximum, largest } satisfies TooLongDetails,
    },
  );
}

/** Both are estimates; `maximum` is the window without room for the answer. */
interface TooLongDetails {
  readonly tokens: number;
  readonly maximum: number;
  readonly largest: readonly { readonly name: string; readonly tokens: number }[];
}

/** Whether it is the error of `tooLong`, with its figures. */
export function isTooLong(error: unknown): error is MillraceError & { readonly details: TooLongDetails } {
  if (!isMillraceError(error) || error.code !== "context_too_long") return false;
  const { details } = error;
  return typeof details === "object" && details !== null && "tokens" in details && "maximum" in details;
}
