import { extname } from "node:path";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { waitBefore } from "../../client/link/backoff.ts";
import type { StreamEvent } from "../../client/stream/stream-event.ts";
import type { StreamOptions } from "../../client/stream/stream-options.ts";
import { type AnswerSource, answerFacts, type ChatModel, chatModel, spellFacts } from "../chat/answer-facts.ts";
import { linkTo, openChatRecords, pickLeftover, readStreamNote, startChat } from "../chat/chat-streams.ts";
import { type ChatStart, holdConversation } from "../chat/hold-conversation.ts";
import { listOwnStreams } from "../chat/pick-turn.ts";
import { readBytes, readQuestion } from "../chat/read-question.ts";
import { type ShownStream, showAnswer, tellConnection } from "../chat/show-answer.ts";
import { listModels } from "../clients/target.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { withGateway } from "../compose/use-gateway.ts";
import { ask, type GatewayClient, type Question, sameGateway } from "../gateway-process/gateway-client.ts";
import { stopIfPaused } from "../gateway-process/pause-file.ts";
import { flag, modelOption, text, texts } from "../options.ts";
import { outlines } from "../outlines.ts";
import { ownGatewayOptions } from "../serve/gateway-options.ts";
import { exitCodes } from "../terminal/exit-codes.ts";

export const chatCommand = defineCommand({
  ...outlines.chat,
  description:
    "Asks one question and prints the answer. Piped text and files are sent with the question. Without a question, on a terminal, it opens a conversation. It uses the running gateway, or starts one in the background that ends by itself after ten idle minutes. Ctrl-C cancels the answer. If the connection or the gateway is lost, the answer continues when the gateway is back. If the command itself was ended, use `--resume`.",
  options: {
    model: modelOption("model to ask, by any of its names"),
    system: text("system prompt", "<text>", { short: "s" }),
    file: texts("text file to send with the question", "<path>", { short: "f" }),
    image: texts("picture to send with the question (PNG, JPEG, GIF, WebP)", "<path>", { short: "i" }),
    thinking: flag("show the model's thinking on stderr"),
    json: flag("print one JSON object at the end"),
    resume: flag("continue an answer that was cut off; if there are several, give the id"),
    noRecord: flag("write no record to disk; an answer that is cut off then cannot be resumed", {
      env: "MILLRACE_NO_RECORD",
    }),
    ...ownGatewayOptions,
  },
  examples: [
    ['millrace chat "What is a millrace?"', "the account's default model"],
    ['git diff | millrace chat -m claude-opus-4.5 "Review this change"', "piped text goes with the question"],
    ["millrace chat -i screen.png 'What is wrong here?'", "with a picture"],
    ["millrace chat", "a conversation, on a terminal"],
    ["millrace chat --resume", "continue the last answer that was cut off"],
  ],
  async run({ options, args }, context) {
    const { io, out } = context;
    const isConversation =
      io.stdin.isTTY === true && out.isTerminal && !options.resume && !options.json && args.length === 0;
    const isQuestion = !isConversation || options.file.length > 0 || options.image.length > 0;
    const pictures = await Promise.all(options.image.map(readPicture));
    const asked = { words: args, files: options.file };
    const question = options.resume ? args.join(" ") : isQuestion ? await readQuestion(asked, context) : "";
    if (!options.resume) stopIfPaused(context.settings.pauseFile);
    return withGateway(options, context, async (gateway) => {
      const records = await openChatRecords(!options.noRecord, options.retention, context);
      const streams: StreamOptions = {
        gateway: linkTo(gateway, "millrace-chat", context),
        store: records,
        grace: `${options.grace}ms`,
        clock: io.clock,
        onConnection: tellConnection(out),
      };
      const model = options.resume ? { name: "", price: undefined } : await modelFor(gateway, options.model, context);
      const { system, thinking } = options;
      if (!isQuestion && !options.resume) {
        const now = () => sameGateway(gateway, context.settings, context.signal);
        const names = async () => (await listModels(await now(), context.signal)).map(({ id }) => id);
        const findModel = async (name: string) => chatModel(await now(), name, context.signal);
        const factsOf: ChatStart["factsOf"] = async (...answer) => answerFacts(...answer, await now(), context);
        return holdConversation({ model, system, thinking, streams, listModels: names, findModel, factsOf }, context);
      }
      const leave = new AbortController();
      let stream: ShownStream;
      let asks: ChatModel = model;
      let source: AnswerSource;
      if (options.resume) {
        const leftover = await pickLeftover(question, streams, context, leave.signal);
        if (leftover === undefined) return exitCodes.ok;
        asks = { name: readStreamNote(leftover.label).model };
        stream = leftover;
        source = { pass: leftover.pass };
      } else if (pictures.length > 0) {
        const idempotencyKey = crypto.randomUUID();
        const withPictures = { model: model.name, text: question, pictures, idempotencyKey, ...(system && { system }) };
        stream = askWithPictures(gateway, withPictures, leave, context);
        source = { idempotencyKey };
      } else {
        const asked = { model: model.name, messages: [{ role: "user" as const, text: question }], system };
        const started = await startChat(asked, streams, leave.signal);
        source = { pass: started.pass };
        stream = started;
      }
      const shown = await showAnswer(stream, leave, { ...options, model: asks.name }, context);
      if (typeof shown === "string") {
        out.note(shown === "left" ? "The answer goes on. `millrace chat --resume` shows it." : "Cancelled.");
        return exitCodes.interrupted;
      }
      if (!options.json && !out.isTerminal) return exitCodes.ok;
      const facts = await answerFacts(source, asks, gateway, context);
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
  asked: string | undefined,
  context: CommandContext,
): Promise<ChatModel> {
  const model = await chatModel(gateway, asked, context.signal);
  const isFirst = model.why !== undefined && (await listOwnStreams(context)).length === 0;
  if (isFirst && model.why !== undefined) context.out.note(model.why);
  return model;
}

/** The types of images that the HTTP APIs accept. Source: docs/http-api.md. */
const types: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

/** A picture as a data URL. @throws MillraceError `invalid_request` for another type, or a file that cannot be read. */
export async function readPicture(path: string): Promise<string> {
  const type = types[extname(path).toLowerCase()];
  if (type !== undefined) return `data:${type};base64,${(await readBytes(path)).toString("base64")}`;
  throw new MillraceError("invalid_request", `${path} is not a picture that can be sent.`, {
    hint: "Use a PNG, JPEG, GIF or WebP file with one of their usual endings.",
  });
}

/** Half a minute in all. */
const backoff = { baseMs: 250, capMs: 5000, budget: 12 };

/**
 * Asks a question with pictures. The stream protocol carries none, so the question goes over Chat Completions, with a key. If the
 * connection breaks, the same request gets the same answer, and the part already shown is skipped.
 */
export function askWithPictures(
  gateway: GatewayClient,
  question: Question,
  leave: AbortController,
  { io, out, settings }: CommandContext,
): ShownStream {
  async function* events(): AsyncGenerator<StreamEvent, void> {
    const shown = { text: 0, thinking: 0 };
    for (let failures = 0; ; ) {
      const seen = { text: 0, thinking: 0 };
      try {
        const now = await sameGateway(gateway, settings, leave.signal);
        for await (const piece of ask(now, question, leave.signal)) {
          if (piece.type === "end") return yield finished(piece.reason);
          const from = Math.max(0, shown[piece.type] - seen[piece.type]);
          seen[piece.type] += piece.delta.length;
          const delta = piece.delta.slice(from);
          if (delta === "") continue;
          shown[piece.type] += delta.length;
          yield { type: piece.type, delta, eventId: "" };
        }
      } catch (error) {
        const isBroken = !isMillraceError(error) || error.cause !== undefined;
        const waitMs = isBroken ? waitBefore(++failures, backoff, Math.random) : undefined;
        if (leave.signal.aborted || waitMs === undefined) throw error;
        if (failures === 2) out.note("The gateway does not answer. Trying again.");
        await io.clock.sleep(waitMs, leave.signal);
      }
    }
  }
  return {
    events: events(),
    cancel: async () => leave.abort(), // the gateway cancels an answer that no client asks for within its grace time
  };
}

const finished = (reason: string): StreamEvent => ({
  type: "end",
  outcome: "finished",
  reason,
  text: undefined,
  errorCode: undefined,
  errorMessage: undefined,
  errorHint: undefined,
  promptTokens: undefined,
  completionTokens: undefined,
  eventId: "",
});
