import { z } from "zod";
import { objectOf } from "../../../base/json.ts";
import type { Message, Part, ReasoningEffort, TurnRequest } from "../../../log/request.ts";
import { objectsIn, readCall, readResult } from "../calls.ts";
import { content, parseContent, parseSystem } from "../content.ts";
import type { ParsedTurn } from "../dialect.ts";
import { History, type Speaker, type WireMessage } from "../history.ts";
import { parseTools } from "../openai-chat/tools.ts";
import {
  effortNamed,
  imageFromBase64,
  imageFromUrl,
  nameAModel,
  noteOfHosted,
  outputLimit,
  parseAt,
  parseBody,
  refuse,
  stopSequences,
} from "../parse-body.ts";
import { formatIn, formatMembers } from "../response-format.ts";

const images = z.array(z.string()).nullish();
const shown = z.object({ images });

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
    const messages = [...noteOfHosted(ignored, tools.length === 0), ...parseMessages(parsed.messages ?? [], history)];
    return { ...turnOf(parsed, "chat", { messages, tools }), ignoredTools: ignored, leftOut: history.leftOut };
  }
  const parsed = parseBody(ollamaGenerateBody, body);
  if (parsed.suffix) throw refuse("suffix", "Insertion is not supported; put both sides into the prompt.");
  const history = new History();
  const system = parseSystem(parsed.system, "system", history);
  const prompt = parseContent(parsed.prompt, "prompt", history);
  const asked: Message = { role: "user", parts: [...prompt, ...parseImages(parsed.images, "images", history)] };
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

const speakers: readonly Speaker[] = ["user", "assistant", "tool"];

function parseMessages(given: readonly unknown[], history: History): Message[] {
  const parse = (message: WireMessage, path: string): Message[] => {
    const { role, thinking } = message;
    if (role === "tool") {
      const { tool_call_id: id, tool_name: name, content, images: pictures } = message;
      const result = readResult({ id, name, content }, `${path}.content`, history);
      return [{ ...result, parts: [...result.parts, ...partsOf({ role, images: pictures }, path, history)] }];
    }
    if (role === "assistant") {
      const toolCalls = objectsIn(message["tool_calls"]).flatMap(({ id, function: called }) => {
        const { name, arguments: input } = objectOf(called);
        return readCall({ id, name, input }, history);
      });
      const parts = partsOf(message, path, history);
      return [{ role, parts, ...(typeof thinking === "string" && thinking ? { thinking } : {}), toolCalls }];
    }
    if (role === "user" || role === "system" || role === "developer")
      return [{ role: role === "user" ? role : "system", parts: partsOf(message, path, history) }];
    history.leaveOut(`message of ${role}`);
    return [];
  };
  return history.readMessages(given, ({ role }) => speakers.find((speaker) => speaker === role) ?? "other", parse);
}

function partsOf(message: WireMessage, path: string, history: History): Part[] {
  const { images: pictures } = history.read("images", () => parseAt(shown, message, path), {});
  const parts = parseContent(message["content"], `${path}.content`, history);
  return [...parts, ...parseImages(pictures, `${path}.images`, history)];
}

/** Pictures have no type here: their first bytes tell it. */
function parseImages(given: readonly string[] | null | undefined, path: string, history: History): Part[] {
  return (given ?? []).flatMap((data, i) => {
    const at = `${path}[${i}]`;
    return history.readFile("images", "an image", () => {
      if (data.startsWith("data:")) return [imageFromUrl(data, at)];
      const [, type = "png"] =
        [
          ["/9j/", "jpeg"],
          ["R0lG", "gif"],
          ["UklG", "webp"],
        ].find(([head = ""]) => data.startsWith(head)) ?? [];
      return [imageFromBase64(`image/${type}`, data, at)];
    });
  });
}
