import { z } from "zod";
import type { Message, ReasoningEffort, TurnRequest } from "../../../log/request.ts";
import { content, parseContent, parseSystem } from "../content.ts";
import type { ParsedTurn } from "../dialect.ts";
import { bareImages } from "../files.ts";
import { History } from "../history.ts";
import { readMessages } from "../messages/any-message.ts";
import { parseTools } from "../openai-chat/tools.ts";
import { effortNamed, nameAModel, noteOfHosted, outputLimit, parseBody, refuse, stopSequences } from "../parse-body.ts";
import { formatIn, formatMembers } from "../response-format.ts";

const images = z.array(z.string()).nullish();

const common = {
  model: z.string().min(1, nameAModel("/api/tags")),
  stream: z.boolean().nullish(),
  format: formatMembers.response_format,
  options: z
    .looseObject({ num_predict: z.number().nullish(), stop: z.union([z.string(), z.array(z.string())]).nullish() })
    .nullish(),
  think: z.union([z.boolean(), z.string()]).nullish(),
};

/** The members of a body of `POST /api/chat` that are looked at, and their types. */
export const ollamaChatBody = z.object({
  ...common,
  messages: z.array(z.unknown()).nullish(),
  tools: z.array(z.looseObject({ type: z.string().nullish() })).nullish(),
});

/** The members of a body of `POST /api/generate` that are looked at, and their types. */
export const ollamaGenerateBody = z.object({
  ...common,
  prompt: content.nullish(),
  system: content.nullish(),
  suffix: z.string().nullish(),
  images,
});

/** The reader's form of the answer: `message` or `response`. */
export interface OllamaWire {
  readonly form: "chat" | "generate";
}

/**
 * A request of either route. Streams unless the body says no. Options of local models (`num_ctx`, `keep_alive`, `temperature`,
 * `template`) are ignored.
 *
 * @throws MillraceError `invalid_request` with the path of the field. Source: docs/dev/wire/clients.md, "Ollama".
 */
export function parseOllamaRequest(body: unknown): ParsedTurn & { readonly wire: OllamaWire } {
  if (typeof body === "object" && body !== null && "messages" in body) {
    const parsed = parseBody(ollamaChatBody, body);
    const history = new History();
    const { tools, ignored } = parseTools(parsed.tools);
    const messages = [...noteOfHosted(ignored, tools.length === 0), ...readMessages(parsed.messages ?? [], history)];
    return { ...turnOf(parsed, "chat", { messages, tools }), ignoredTools: ignored, leftOut: history.leftOut };
  }
  const parsed = parseBody(ollamaGenerateBody, body);
  if (parsed.suffix) throw refuse("suffix", "Insertion is not supported; put both sides into the prompt.");
  const history = new History();
  const system = parseSystem(parsed.system, "system", history);
  const prompt = parseContent(parsed.prompt, "prompt", history);
  const asked: Message = { role: "user", parts: [...prompt, ...bareImages(history, parsed.images)] };
  history.refuseUnreadable([asked], "prompt");
  return { ...turnOf(parsed, "generate", { messages: [...system, asked], tools: [] }), leftOut: history.leftOut };
}

/**
 * The answer to a body without a question, by which clients load a model ahead, or unload it (`keep_alive: 0`): it is loaded always.
 * Undefined for a question. Source: docs/dev/wire/clients.md, "Ollama".
 */
export function answerLoad(body: unknown, form: OllamaWire["form"], nowMs: number): unknown {
  const asked = z
    .looseObject({ model: z.string(), messages: z.array(z.unknown()).nullish(), prompt: z.string().nullish() })
    .safeParse(body);
  if (!asked.success) return undefined;
  const { model, messages, prompt, images: pictures, keep_alive: keep } = asked.data;
  if (messages?.length || prompt || (Array.isArray(pictures) && pictures.length > 0)) return undefined;
  const empty = form === "chat" ? { message: { role: "assistant", content: "" } } : { response: "" };
  const isOver = keep === 0 || (typeof keep === "string" && /^0+(?:\.0*)?(?:ns|us|µs|ms|s|m|h)?$/.test(keep));
  const reason = isOver ? "unload" : "load";
  return { model, created_at: new Date(nowMs).toISOString(), ...empty, done: true, done_reason: reason };
}

function turnOf(
  body: z.infer<z.ZodObject<typeof common>>,
  form: OllamaWire["form"],
  asked: Pick<TurnRequest, "messages" | "tools">,
): ParsedTurn & { readonly wire: OllamaWire } {
  const { num_predict: most, stop } = body.options ?? {};
  const effort = effortOf(body.think);
  const request: TurnRequest = {
    model: body.model,
    ...asked,
    toolChoice: { type: "auto" },
    parallelToolCalls: true,
    responseFormat: formatIn({ response_format: body.format }, false),
    stop: stopSequences(stop, "options.stop"),
    ...outputLimit(most),
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
  };
  return { request, stream: body.stream ?? true, wire: { form } };
}

function effortOf(think: z.infer<typeof common.think>): ReasoningEffort | undefined {
  if (think === false) return "none";
  return typeof think === "string" ? effortNamed(think) : undefined;
}
