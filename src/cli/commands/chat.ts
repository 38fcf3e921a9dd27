import { basename, extname } from "node:path";
import { efforts, isEffort } from "../../base/effort.ts";
import { MillraceError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import { answerFacts, type ChatModel, chatModel, spellFacts } from "../chat/answer-facts.ts";
import { askTurn, type ChatWay } from "../chat/chat-turn.ts";
import { holdConversation } from "../chat/hold-conversation.ts";
import { newestTurns } from "../chat/pick-turn.ts";
import { readBytes, readQuestion } from "../chat/read-question.ts";
import { showAnswer } from "../chat/show-answer.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { withGateway } from "../compose/use-gateway.ts";
import { type GatewayClient, sameGateway } from "../gateway-process/gateway-client.ts";
import { stopIfPaused } from "../gateway-process/pause-file.ts";
import { choice, flag, modelOption, text, texts } from "../options.ts";
import { outlines } from "../outlines.ts";
import { ownGatewayOptions } from "../serve/gateway-options.ts";
import { exitCodes } from "../terminal/exit-codes.ts";

export const chatCommand = defineCommand({
  ...outlines.chat,
  description:
    "Asks one question and prints the answer. Piped text and files are sent with the question. Without a question, on a terminal, it opens a conversation. It uses the running gateway, or starts one in the background that ends by itself after ten idle minutes. Ctrl-C cancels the answer. If the connection or the gateway is lost, the answer continues when the gateway is back. If the command itself was ended, `millrace tail --follow` shows the answer.",
  options: {
    model: modelOption("model to ask, by any of its names"),
    system: text("system prompt", "<text>", { short: "s" }),
    file: texts("text file or PDF to send with the question", "<path>", { short: "f" }),
    image: texts("picture to send with the question (PNG, JPEG, GIF, WebP)", "<path>", { short: "i" }),
    effort: choice("how much the model may think", efforts, undefined),
    format: text("answer in JSON: `json`, or a file with a JSON Schema", "<json|path>"),
    stop: texts("end the answer before this text", "<text>"),
    thinking: flag("show the model's thinking on stderr"),
    json: flag("print one JSON object at the end"),
    ...ownGatewayOptions,
  },
  examples: [
    ['millrace chat "What is a millrace?"', "the account's default model"],
    ['git diff | millrace chat -m claude-opus "Review this change"', "piped text goes with the question"],
    ["millrace chat -i screen.png 'What is wrong here?'", "with a picture"],
    ["millrace chat", "a conversation, on a terminal"],
  ],
  async run({ options, args }, context) {
    const { io, out, settings } = context;
    const isConversation = io.stdin.isTTY === true && out.isTerminal && !options.json && args.length === 0;
    const isQuestion = !isConversation || options.file.length > 0 || options.image.length > 0;
    const attached = [...options.image, ...options.file.filter(isPdf)];
    const files = await Promise.all(attached.map(readAttachment));
    const asked = { words: args, files: options.file.filter((path) => !isPdf(path)) };
    const { system, thinking, effort, stop } = options;
    const asks = {
      messages: system === undefined ? [] : [{ role: "system" as const, content: system }],
      ...(stop.length === 0 ? {} : { stop }),
      ...(effort === undefined ? {} : { reasoning_effort: effort }),
      ...(options.format === undefined ? {} : { response_format: await readFormat(options.format) }),
    };
    const question = isQuestion ? await readQuestion(asked, context) : "";
    stopIfPaused(settings.pauseFile);
    return withGateway(options, context, async (gateway) => {
      const way: ChatWay = {
        gateway: (asking) => sameGateway(gateway, settings, asking),
        graceMs: options.grace,
      };
      const leave = new AbortController();
      const reading = { ...context, signal: leave.signal };
      const model = await modelFor(gateway, options, context);
      if (!isQuestion) return holdConversation({ model, asks, thinking, way }, context);
      const content = [{ type: "text", text: question }, ...files];
      const messages = [...asks.messages, { role: "user" as const, content }];
      const turn = askTurn({ ...asks, model: model.name, messages }, way, reading);
      const shown = await showAnswer(turn, leave, options, context);
      if (typeof shown === "string") {
        out.note(shown === "left" ? "The answer goes on. `millrace tail --follow` shows it." : "Cancelled.");
        return exitCodes.interrupted;
      }
      if (!options.json && !out.isTerminal) return exitCodes.ok;
      const facts = await answerFacts(turn.id(), model, gateway, context);
      if (!options.json) out.line(out.style("dim", spellFacts(facts)));
      else {
        const { answer, thinking: thoughts, reason } = shown;
        const { tokens, credits } = facts;
        out.json({
          model: facts.model,
          answer,
          thinking: thoughts,
          finish_reason: reason,
          turn: facts.turn ?? null,
          tokens: tokens ?? null,
          credits: credits?.value ?? null,
          credits_estimated: credits?.isEstimated ?? false,
        });
      }
      return exitCodes.ok;
    });
  },
});

/** The model that was asked for, else the default one. The first chat says why that one, where the account names none. */
async function modelFor(
  gateway: GatewayClient,
  { model: asked, effort }: { readonly model: string | undefined; readonly effort: string | undefined },
  context: CommandContext,
): Promise<ChatModel> {
  const found = await chatModel(gateway, asked, context.signal);
  const [base = "", level = ""] = /^(.+):([a-z]+)$/.exec(found.name)?.slice(1) ?? [];
  const model = effort !== undefined && isEffort(level) ? { ...found, name: base } : found; // the name's effort goes before
  if (model.why !== undefined && (await newestTurns(gateway, 1, context.signal)).length === 0)
    context.out.note(model.why);
  return model;
}

/** The files of a question. PDFs go as they are, other files become part of its text. */
const types: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".pdf": "application/pdf",
};

const isPdf = (path: string) => extname(path).toLowerCase() === ".pdf";

/** A picture or PDF as a part of a message. @throws MillraceError `invalid_request` for another type, or a file that cannot be read. */
async function readAttachment(path: string): Promise<object> {
  const type = types[extname(path).toLowerCase()];
  if (type === undefined)
    throw new MillraceError("invalid_request", `${path} is not a picture that can be sent.`, {
      hint: "Use a PNG, JPEG, GIF or WebP file with one of their usual endings.",
    });
  const url = `data:${type};base64,${(await readBytes(path)).toString("base64")}`;
  return isPdf(path)
    ? { type: "file", file: { filename: basename(path), file_data: url } }
    : { type: "image_url", image_url: { url } };
}

/** Any JSON for `json`, or JSON by the schema in a file. @throws MillraceError `invalid_request` for a file that holds none. */
async function readFormat(given: string): Promise<object> {
  if (given === "json") return { type: "json_object" };
  const text = (await readBytes(given)).toString();
  try {
    const schema: unknown = JSON.parse(text);
    if (isObject(schema)) return { type: "json_schema", json_schema: { name: "answer", schema, strict: true } };
  } catch {
    // refused below
  }
  throw new MillraceError("invalid_request", `${given} holds no JSON Schema.`, {
    hint: "Name a file with a JSON Schema, or give `--format json` for JSON of any form.",
  });
}
