import { z } from "zod";
import { type Answer, millraceEnd, textOf } from "../answer.ts";
import type { Dialect, EncodeContext, ParsedTurn } from "../dialect.ts";
import { openAiUsage, reportedUsage } from "../openai-usage.ts";
import { parseBody, refuse } from "../parse-body.ts";
import { type ChunkForm, chatEncoder, headOf, openAiChat } from "./encode.ts";
import { type ChatWire, chatBody, parseChatRequest } from "./request.ts";

/** The members of a body that are looked at, and their types. Those of Chat Completions mean the same here. */
export const completionsBody = chatBody
  .pick({ model: true, stream: true, stream_options: true, max_tokens: true, stop: true, n: true, logprobs: true })
  .extend({
    prompt: z.union([z.string(), z.array(z.unknown())]).nullish(),
    suffix: z.string().nullish(),
    echo: z.boolean().nullish(),
    best_of: z.number().nullish(),
  });

function parseCompletion(body: unknown): ParsedTurn & {
  readonly wire: ChatWire & {
    /** The answer begins with the prompt. */
    readonly echo: boolean;
  };
} {
  const { prompt, suffix, echo, best_of: best, ...chat } = parseBody(completionsBody, body);
  if (suffix) throw refuse("suffix", "Insertion is not supported.", "Put both sides into the prompt.");
  if (typeof best === "number" && best !== 1) throw refuse("best_of", "Only one answer per request is supported.");
  const parsed = parseChatRequest({ ...chat, messages: [{ role: "user", content: promptText(prompt) }] });
  return { ...parsed, wire: { ...parsed.wire, echo: echo ?? false } };
}

function promptText(prompt: z.infer<typeof completionsBody>["prompt"]): string {
  const prompts = typeof prompt === "string" ? [prompt] : (prompt ?? []);
  if (prompts.some((one) => typeof one !== "string"))
    throw refuse("prompt", "Numbers of tokens cannot be read here.", "Send the prompt as a text.");
  const [text] = prompts;
  if (prompts.length > 1) throw refuse("prompt", "Only one prompt per request is supported.");
  if (typeof text !== "string" || text === "") throw refuse("prompt", "The prompt is empty.");
  return text;
}

function echoed({ parsed }: EncodeContext): string {
  const [asked] = parsed.request.messages;
  return (parsed.wire as ReturnType<typeof parseCompletion>["wire"]).echo && asked !== undefined // set by this dialect's own parser
    ? asked.parts.map((part) => (part.type === "text" ? part.text : "")).join("")
    : "";
}

/** A choice has a text in place of a message. Thinking has no place: its chunks are empty. */
const form: ChunkForm = {
  idPrefix: "cmpl-",
  object: "text_completion",
  first: (context) => ({ content: echoed(context) }),
  choice: ({ content = "" }, reason) => choiceOf(content, reason),
};

function choiceOf(text: unknown, reason: string | null) {
  return { text, index: 0, logprobs: null, finish_reason: reason };
}

function encodeCompletion(context: EncodeContext, answer: Answer): unknown {
  const reason = answer.end?.type === "finished" ? answer.end.reason.unified : "stop";
  return {
    ...headOf(context, form),
    choices: [choiceOf(echoed(context) + textOf(answer.blocks), reason)],
    usage: openAiUsage(reportedUsage(answer, context)),
    ...millraceEnd(answer.end),
  };
}

/** OpenAI's older `POST /v1/completions`: Chat Completions with one prompt in and a text out. Source: docs/http-api.md, "What the APIs get". */
export const openAiCompletions: Dialect = {
  ...openAiChat,
  name: "openai-completions",
  parse: parseCompletion,
  encoder: (context) => chatEncoder(context, form),
  encodeAnswer: encodeCompletion,
};
